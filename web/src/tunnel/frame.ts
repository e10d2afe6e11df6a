/**
 * Messages of a terminal's channel: each is exactly one frame of stream mode (docs/protocols/coop.md), that is its
 * length (32 bits, big endian), a tag, and its content.
 */

const DATA = 0;
const CONTROL = 1;
const HEADER = 5;

export type Frame = { kind: 'data'; bytes: Uint8Array } | { kind: 'control'; text: string } | { kind: 'unknown' };

/** Null for a message that is no frame. */
export function readFrame(message: ArrayBuffer): Frame | null {
  if (message.byteLength < HEADER) return null;
  const view = new DataView(message);
  if (view.getUint32(0) !== message.byteLength - HEADER + 1) return null;
  const content = new Uint8Array(message, HEADER);
  if (view.getUint8(4) === DATA) return { kind: 'data', bytes: content };
  if (view.getUint8(4) === CONTROL) return { kind: 'control', text: new TextDecoder().decode(content) };
  return { kind: 'unknown' };
}

export function dataFrame(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  return frame(DATA, bytes);
}

export function controlFrame(message: object): Uint8Array<ArrayBuffer> {
  return frame(CONTROL, new TextEncoder().encode(JSON.stringify(message)));
}

function frame(tag: number, content: Uint8Array): Uint8Array<ArrayBuffer> {
  const message = new Uint8Array(HEADER + content.length);
  new DataView(message.buffer).setUint32(0, content.length + 1);
  message[4] = tag;
  message.set(content, HEADER);
  return message;
}
