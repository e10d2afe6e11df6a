import type { Attached } from '../protocol/generated';
import type { Channel, ChannelHandlers, ChannelRequest, Reachability, Transport } from '../transport/transport';
import { Outbox } from './outbox';
import { TerminalChannel } from './terminal-channel';

/** Bytes of a message on the control channel. */
const MESSAGE = 65_536;
/** Begins the ids of the transport's own requests; the page's are numbers. */
const OWN = 'terminal-';

/** As the host names the reasons. */
export type TunnelEnd = 'peer' | 'expired' | 'revoked' | 'refused' | 'session' | 'daemon';

type TerminalRequest = Extract<ChannelRequest, { kind: 'terminal' }>;

/** A terminal that was asked for. */
interface Opening {
  request: TerminalRequest;
  terminal: TerminalChannel;
  id: string | null;
}

/**
 * Channels over a tunnel. There is one control channel for the tunnel's whole life; a terminal's channel is opened by
 * the host after the operation `attach`.
 *
 * The host labels such a channel with session and PTY only. Two panes may show the same one, so terminals with the same
 * label are opened one after the other, and a channel belongs to the first that waits for its label.
 */
export class DataChannelTransport implements Transport {
  private readonly outbox: Outbox;
  private page: ChannelHandlers | null = null;
  private readonly opening = new Map<string, Opening[]>();
  private readonly terminals = new Set<TerminalChannel>();
  private nextId = 1;
  private ended = false;
  /** Why the host ends the tunnel, once it has said so. */
  reason: TunnelEnd | null = null;

  /** `control` is open, and both ends have proved who they are. */
  constructor(
    private readonly control: RTCDataChannel,
    readonly machine: string,
  ) {
    this.outbox = new Outbox(control);
    control.onmessage = ({ data }: MessageEvent<unknown>) => {
      if (typeof data === 'string') this.receive(data);
    };
  }

  open(request: ChannelRequest, handlers: ChannelHandlers): Channel {
    if (this.ended || request.kind === 'chat') return refused(handlers);
    return request.kind === 'control' ? this.openControl(handlers) : this.openTerminal(request, handlers);
  }

  /** A tunnel that has ended stays so: nothing but a new one helps. */
  async probe(): Promise<Reachability> {
    return this.ended ? 'signed-out' : 'reachable';
  }

  /** Takes a channel that the host has opened. */
  accept(channel: RTCDataChannel): void {
    const [first] = this.opening.get(channel.label) ?? [];
    if (!first || this.ended) channel.close();
    else {
      first.terminal.accept(channel);
      this.advance(channel.label);
    }
  }

  /** The tunnel has ended, and every channel with it. */
  end(): void {
    if (this.ended) return;
    this.ended = true;
    this.control.onmessage = null;
    const open = [...this.terminals];
    this.terminals.clear();
    this.opening.clear();
    for (const terminal of open) terminal.end();
    const { page } = this;
    this.page = null;
    page?.closed();
  }

  private openControl(handlers: ChannelHandlers): Channel {
    this.page = handlers;
    // As with a socket, nothing happens before the caller has its channel.
    queueMicrotask(() => this.page === handlers && handlers.open());
    return {
      sendText: (message) => this.page === handlers && this.send(message),
      sendBinary: () => {},
      close: () => {
        if (this.page === handlers) this.page = null;
      },
    };
  }

  private send(message: string): void {
    if (new TextEncoder().encode(message).length <= MESSAGE) {
      this.outbox.send(message);
      return;
    }
    // The host could not say which request it refuses.
    const { id } = JSON.parse(message) as { id?: unknown };
    const error = { id, ok: false, error: 'MESSAGE_TOO_LARGE', message: `a message over a tunnel has at most ${MESSAGE / 1024} KiB; send less at once` };
    queueMicrotask(() => this.page?.text(JSON.stringify(error)));
  }

  private receive(text: string): void {
    // Most messages are the page's, which reads them itself.
    const reply = text.includes(`"${OWN}`) ? (JSON.parse(text) as Attached & { id?: unknown }) : null;
    if (typeof reply?.id === 'string' && reply.id.startsWith(OWN)) this.replied(reply.id, reply);
    else if (text.startsWith('{"event":"closed"')) this.reason = (JSON.parse(text) as { reason: TunnelEnd }).reason;
    else this.page?.text(text);
  }

  // Terminals

  private openTerminal(request: TerminalRequest, handlers: ChannelHandlers): Channel {
    const label = `coop-pty-${request.session}-${request.pty}`;
    const terminal = new TerminalChannel({
      ...handlers,
      closed: () => {
        this.terminals.delete(terminal);
        handlers.closed();
      },
    });
    this.terminals.add(terminal);
    const line = this.opening.get(label) ?? [];
    this.opening.set(label, line);
    line.push({ request, terminal, id: null });
    this.advance(label);
    return {
      sendText: (message) => terminal.sendText(message),
      sendBinary: (message) => terminal.sendBinary(message),
      close: () => {
        terminal.close();
        this.terminals.delete(terminal);
      },
    };
  }

  /** Asks for the next terminal with a label, once the one before is open. */
  private advance(label: string): void {
    const line = this.opening.get(label) ?? [];
    for (;;) {
      const [first] = line;
      if (!first) {
        this.opening.delete(label);
        return;
      }
      const asked = first.id !== null;
      // What was asked for comes, even if the page has closed it meanwhile.
      if (asked && !first.terminal.isComplete) return;
      if (!asked && !first.terminal.isClosed) {
        this.ask(first);
        return;
      }
      line.shift();
    }
  }

  private ask(opening: Opening): void {
    const { session, pty, resume, watch } = opening.request;
    opening.id = `${OWN}${this.nextId++}`;
    // As `/ws` opens it: the terminal keeps its size, and a watcher of another size gets cut-outs.
    const attach = { session, pty, cols: 0, rows: 0, watch, repaint: true, sizes: !watch, offsets: true, ...(resume === null ? {} : { resume }) };
    this.outbox.send(JSON.stringify({ id: opening.id, cmd: 'attach', ...attach }));
  }

  private replied(id: string, reply: Attached): void {
    for (const [label, line] of this.opening) {
      const [first] = line;
      if (first?.id !== id) continue;
      if (reply.ok) first.terminal.replied(reply);
      else first.terminal.refuse();
      this.advance(label);
      return;
    }
  }
}

/** A channel that does not exist here. */
function refused(handlers: ChannelHandlers): Channel {
  const timer = setTimeout(() => handlers.closed());
  return { sendText: () => {}, sendBinary: () => {}, close: () => clearTimeout(timer) };
}
