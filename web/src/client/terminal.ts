import { readServerMessage, type ResizeMessage, type ServerMessage } from '../protocol/terminal';
import { ReconnectingChannel } from '../transport/reconnecting';
import type { Transport } from '../transport/transport';
import { OutputPosition } from './output-position';

export type TerminalState = 'connecting' | 'open' | 'lost' | 'ended' | 'signed-out';

export interface TerminalHandlers {
  /**
   * Bytes for the terminal, in order with the messages; `pictureEnds` marks the last piece of a picture. `handled` is
   * called once they are parsed.
   */
  output(bytes: Uint8Array, pictureEnds: boolean, handled: () => void): void;
  message(message: ServerMessage): void;
  state(state: TerminalState): void;
}

/** One PTY over one channel at a time, which resumes where the previous one ended. */
export class TerminalConnection {
  private readonly channel: ReconnectingChannel;
  private readonly position = new OutputPosition();
  private ended = false;
  private size: ResizeMessage | null = null;

  constructor(
    transport: Transport,
    session: string,
    pty: number,
    private watch: boolean,
    private readonly handlers: TerminalHandlers,
  ) {
    this.channel = new ReconnectingChannel(transport, {
      request: () => ({ kind: 'terminal', session, pty, resume: this.position.offset, watch: this.watch }),
      open: () => {},
      text: (text) => this.receive(text),
      binary: (bytes, handled) => {
        const { pictureEnds } = this.position.bytes(bytes.length);
        this.handlers.output(bytes, pictureEnds, handled);
      },
      lost: () => {
        this.position.lost();
        if (this.ended) this.channel.close();
        this.handlers.state(this.ended ? 'ended' : 'lost');
      },
      signedOut: () => this.handlers.state('signed-out'),
    });
  }

  input(bytes: Uint8Array): void {
    this.channel.sendBinary(bytes);
  }

  /** Reports the size of the window; sent again after each reconnection, as the daemon knows a size per connection. */
  resize(cols: number, rows: number): void {
    this.size = { type: 'resize', cols, rows };
    this.channel.sendText(JSON.stringify(this.size));
  }

  /** Begins to watch, or to type, with a new picture. */
  setWatch(watch: boolean): void {
    if (watch === this.watch) return;
    this.watch = watch;
    this.size = null;
    this.position.offset = null;
    this.channel.reopen();
  }

  close(): void {
    this.channel.close();
  }

  private receive(text: string): void {
    const message = readServerMessage(text);
    if (!message) return;
    this.position.control(message);
    if (message.type === 'exited') this.ended = true;
    this.handlers.message(message);
    if (message.type === 'attached') {
      if (this.size) this.channel.sendText(JSON.stringify(this.size));
      this.handlers.state('open');
    }
  }
}
