import { type ControlEvent, OperationError, type OperationName, type Replies } from '../protocol/control';
import { ReconnectingChannel } from '../transport/reconnecting';
import type { Transport } from '../transport/transport';

/** `stopped` is `lost` with a known reason: the web server was stopped, and may be started again. */
export type ConnectionState = 'connecting' | 'open' | 'lost' | 'stopped' | 'signed-out';

interface Pending {
  resolve(reply: never): void;
  reject(error: Error): void;
}

type Reply = { id?: number; ok?: boolean; error?: string; message?: string; hint?: string; event?: string; cursor?: string };

/** An operation that the daemon may or may not have executed, because the connection ended first. */
export class ConnectionLost extends Error {
  override name = 'ConnectionLost';
  constructor() {
    super('the connection to the daemon was lost');
  }
}

/**
 * Operations over one channel, many at a time. Requests that are under way when the connection ends fail with
 * `ConnectionLost`; they are never repeated, because only the caller knows whether that is safe. The stream of events
 * continues behind the last cursor.
 */
export class ControlClient {
  private readonly channel: ReconnectingChannel;
  private readonly pending = new Map<number, Pending>();
  private nextId = 1;
  private eventsId = 0;
  private cursor: string | number | null = null;
  private open = false;
  private stopped = false;

  constructor(
    transport: Transport,
    private readonly onState: (state: ConnectionState) => void,
    private readonly onEvent: (event: ControlEvent) => void,
  ) {
    this.channel = new ReconnectingChannel(transport, {
      request: () => ({ kind: 'control' }),
      open: () => {
        this.open = true;
        this.stopped = false;
        this.followEvents();
        this.onState('open');
      },
      text: (message) => this.receive(message),
      lost: (stopped) => {
        // Later attempts fail without a reason.
        this.stopped ||= stopped;
        this.fail(this.stopped ? 'stopped' : 'lost');
      },
      signedOut: () => this.fail('signed-out'),
    });
  }

  request<Name extends OperationName>(cmd: Name, fields: object = {}, signal?: AbortSignal): Promise<Replies[Name]> {
    if (!this.open) return Promise.reject(new ConnectionLost());
    const id = this.nextId++;
    return new Promise((resolve, reject) => {
      this.pending.set(id, { resolve, reject });
      signal?.addEventListener('abort', () => {
        if (!this.pending.delete(id)) return;
        this.send({ id: this.nextId++, cmd: 'cancel', request: id });
        reject(new DOMException('cancelled', 'AbortError'));
      });
      this.send({ ...fields, id, cmd });
    });
  }

  close(): void {
    this.channel.close();
    this.fail('lost');
  }

  private send(message: object): void {
    this.channel.sendText(JSON.stringify(message));
  }

  private followEvents(): void {
    this.eventsId = this.nextId++;
    this.send({ id: this.eventsId, cmd: 'events', ...(this.cursor === null ? {} : { since: this.cursor }) });
  }

  private receive(text: string): void {
    let message: Reply;
    try {
      message = JSON.parse(text) as Reply;
    } catch {
      return;
    }
    if (message.id === this.eventsId) {
      if (message.cursor !== undefined) this.cursor = message.cursor;
      if (message.event !== undefined) this.onEvent(message as ControlEvent);
      return;
    }
    const pending = message.id === undefined ? undefined : this.pending.get(message.id);
    if (!pending || message.id === undefined) return;
    this.pending.delete(message.id);
    if (message.ok) pending.resolve(message as never);
    else pending.reject(new OperationError(message.error ?? 'INTERNAL_ERROR', message.message ?? 'unknown error', message.hint));
  }

  private fail(state: ConnectionState): void {
    this.open = false;
    const lost = [...this.pending.values()];
    this.pending.clear();
    for (const { reject } of lost) reject(new ConnectionLost());
    this.onState(state);
  }
}
