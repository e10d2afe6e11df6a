import type { Transport } from '../transport/transport';
import { TerminalConnection, type TerminalHandlers } from './terminal';

/** Bytes kept for a screen that does not exist yet; beyond that the screen attaches anew, which costs a picture. */
const HELD_BYTES = 4 << 20;
/** A screen that has not taken the connection by then will not. */
const HELD_MS = 10_000;

interface Early {
  key: string;
  connection: TerminalConnection;
  take(handlers: TerminalHandlers): void;
}

const keyOf = (session: string, pty: number, watch: boolean) => JSON.stringify([session, pty, watch]);

/**
 * The terminal that the page will show first, attached while the code that draws it is still being loaded. Invariant:
 * what arrives before a screen takes the connection is passed to that screen in the same order, or the connection is
 * closed.
 */
export class EarlyTerminal {
  private early: Early | null = null;
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly transport: Transport) {}

  attach(session: string, pty: number, watch: boolean): void {
    const key = keyOf(session, pty, watch);
    if (this.early?.key === key) return;
    this.discard();
    let handlers: TerminalHandlers | null = null;
    const held: ((handlers: TerminalHandlers) => void)[] = [];
    let bytes = 0;
    const pass = (call: (handlers: TerminalHandlers) => void) => {
      if (handlers) call(handlers);
      else held.push(call);
    };
    const connection = new TerminalConnection(this.transport, session, pty, watch, {
      output: (piece, pictureEnds, handled) => {
        pass((taker) => taker.output(piece, pictureEnds, handled));
        bytes += piece.length;
        if (!handlers && bytes > HELD_BYTES) this.discard();
      },
      message: (message) => pass((taker) => taker.message(message)),
      state: (state) => pass((taker) => taker.state(state)),
    });
    const take = (taker: TerminalHandlers) => {
      handlers = taker;
      for (const call of held.splice(0)) call(taker);
    };
    this.early = { key, connection, take };
    this.timer = setTimeout(() => this.discard(), HELD_MS);
  }

  /** The connection to this terminal: the early one if there is one, else a new one. No handler is called before `begin`. */
  connect(session: string, pty: number, watch: boolean, handlers: TerminalHandlers): { connection: TerminalConnection; begin(): void } {
    const { early } = this;
    if (early?.key !== keyOf(session, pty, watch)) return { connection: new TerminalConnection(this.transport, session, pty, watch, handlers), begin: () => {} };
    this.early = null;
    clearTimeout(this.timer);
    return { connection: early.connection, begin: () => early.take(handlers) };
  }

  private discard(): void {
    clearTimeout(this.timer);
    this.early?.connection.close();
    this.early = null;
  }
}
