import type { Attached } from '../protocol/generated';
import type { ResizeMessage, ServerMessage } from '../protocol/terminal';
import type { Channel, ChannelHandlers } from '../transport/transport';
import { controlFrame, dataFrame, readFrame } from './frame';
import { Outbox } from './outbox';

/** Bytes of input in a message; the host takes 64 KiB. */
const INPUT = 60 * 1024;
/** Bytes handled before they are acknowledged. The host stops at a mebibyte, and its window should not run dry. */
const ACKNOWLEDGE = 64 * 1024;

/**
 * A terminal over a data channel, which looks to its user like one over a WebSocket: the same text messages, and bytes.
 *
 * It is made when the host is asked for it. The host's reply and its channel then come in any order; nothing is passed
 * on before both are here.
 */
export class TerminalChannel implements Channel {
  private attached: Attached | null = null;
  private channel: RTCDataChannel | null = null;
  private outbox: Outbox | null = null;
  private early: ArrayBuffer[] = [];
  private open = false;
  private closed = false;
  private refused = false;
  private handled = 0;
  private acknowledged = 0;

  constructor(private readonly handlers: ChannelHandlers) {}

  /** Whether the page has closed it. */
  get isClosed(): boolean {
    return this.closed;
  }

  /** Whether the host has done its part: a reply and a channel, or an error. */
  get isComplete(): boolean {
    return this.refused || (this.attached !== null && this.channel !== null);
  }

  // What the host does

  replied(attached: Attached): void {
    this.attached = attached;
    this.begin();
  }

  /** There is no such terminal. */
  refuse(): void {
    this.refused = true;
    this.end();
  }

  accept(channel: RTCDataChannel): void {
    this.channel = channel;
    // What was closed before it was open is closed now.
    if (this.closed) return channel.close();
    channel.binaryType = 'arraybuffer';
    channel.onmessage = ({ data }: MessageEvent<unknown>) => this.message(data);
    channel.onclose = () => this.end();
    this.outbox = new Outbox(channel);
    // A channel may be announced before it can send.
    channel.onopen = () => this.begin();
    this.begin();
  }

  /** The terminal has been lost. */
  end(): void {
    if (this.closed) return;
    this.close();
    this.handlers.closed();
  }

  // What the page does

  sendText(text: string): void {
    const { cols, rows } = JSON.parse(text) as ResizeMessage;
    if (this.open) this.outbox?.send(controlFrame({ cmd: 'resize', cols, rows }));
  }

  sendBinary(bytes: Uint8Array): void {
    if (!this.open) return;
    for (let at = 0; at < bytes.length; at += INPUT) this.outbox?.send(dataFrame(bytes.subarray(at, at + INPUT)));
  }

  close(): void {
    this.closed = true;
    this.early = [];
    if (!this.channel) return;
    this.channel.onopen = null;
    this.channel.onmessage = null;
    this.channel.onclose = null;
    this.channel.close();
  }

  private begin(): void {
    if (this.open || this.closed || !this.attached || this.channel?.readyState !== 'open') return;
    this.open = true;
    this.handlers.open();
    const { offset = 0, cols = 80, rows = 24 } = this.attached;
    this.tell({ type: 'attached', offset, cols, rows });
    const early = this.early;
    this.early = [];
    for (const message of early) this.message(message);
  }

  private tell(message: ServerMessage): void {
    this.handlers.text(JSON.stringify(message));
  }

  private message(data: unknown): void {
    if (this.closed) return;
    const frame = data instanceof ArrayBuffer ? readFrame(data) : null;
    if (!frame) return this.end();
    if (!this.open) {
      this.early.push(data as ArrayBuffer);
      return;
    }
    if (frame.kind === 'control') {
      const message = translated(frame.text);
      if (message) this.tell(message);
    } else if (frame.kind === 'data' && frame.bytes.length > 0) {
      const { length } = frame.bytes;
      this.handlers.binary(frame.bytes, () => this.acknowledge(length));
    }
  }

  private acknowledge(bytes: number): void {
    this.handled += bytes;
    if (this.closed || this.handled - this.acknowledged < ACKNOWLEDGE) return;
    this.acknowledged = this.handled;
    this.outbox?.send(controlFrame({ cmd: 'ack', bytes: this.handled }));
  }
}

/** A control message of stream mode as the one that a WebSocket has for it; null for those that it has none for. */
function translated(text: string): ServerMessage | null {
  let message: Record<string, unknown>;
  try {
    message = JSON.parse(text) as Record<string, unknown>;
  } catch {
    return null;
  }
  // The receiver checks the types of the fields.
  const { offset, bytes, cols, rows, dropped, code, delay_ms } = message as Record<string, number>;
  switch (message['event']) {
    case 'repaint':
      return { type: 'repaint', offset, bytes } as ServerMessage;
    case 'resized':
      return { type: 'resized', cols, rows } as ServerMessage;
    case 'lagged':
      return { type: 'lagged', offset, dropped } as ServerMessage;
    case 'pty_exited':
      return { type: 'exited', code } as ServerMessage;
    case 'pty_restarting':
      return { type: 'notice', text: `The command has ended and restarts in ${Math.ceil(Number(delay_ms) / 1000)} s.` };
    case 'notice':
      return { type: 'notice', text: String(message['text']) };
    default:
      return message['ok'] === false ? { type: 'notice', text: String(message['message']) } : null;
  }
}
