import { fromBase64url, toBase64url } from './base64url';

/** Bytes of a message when inflated; the daemon has the same limit. */
export const MAX_INFLATED = 64 * 1024;

/** A text that is no envelope; its message is for people. */
export class BadPack extends Error {
  override name = 'BadPack';
}

/** A message as text for a URL: JSON, compressed, in base64url. */
export async function pack(message: object): Promise<string> {
  const json = new TextEncoder().encode(JSON.stringify(message));
  return toBase64url(await through(json, new CompressionStream('deflate-raw'), Number.POSITIVE_INFINITY));
}

/** Reads such a text. A small one cannot become a large message. */
export async function unpack(text: string): Promise<unknown> {
  if (text.length > 2 * MAX_INFLATED) throw new BadPack('The offer is too long.');
  if (!/^[\w-]*$/u.test(text)) throw new BadPack('The offer contains invalid characters; copy the whole address, and nothing else.');
  try {
    const json = await through(fromBase64url(text) ?? new Uint8Array(), new DecompressionStream('deflate-raw'), MAX_INFLATED);
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(json));
  } catch (error) {
    if (error instanceof BadPack) throw error;
    throw new BadPack('The offer is damaged or incomplete; copy the whole address.');
  }
}

async function through(bytes: Uint8Array<ArrayBuffer>, transform: CompressionStream | DecompressionStream, most: number): Promise<Uint8Array> {
  const reader = new Blob([bytes]).stream().pipeThrough(transform).getReader();
  const parts: Uint8Array[] = [];
  let length = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    length += value.length;
    if (length > most) {
      await reader.cancel().catch(() => {});
      throw new BadPack('The offer is too long.');
    }
    parts.push(value);
  }
  const all = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}
