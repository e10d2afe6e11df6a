import { backoffDelay } from './backoff';
import type { Channel, ChannelRequest, Reachability, Transport } from './transport';

export interface ReconnectingHandlers {
  /** Names the channel to open; called for each attempt, as a terminal resumes at another offset each time. */
  request(): ChannelRequest;
  open(): void;
  text(message: string): void;
  binary?(message: Uint8Array, handled: () => void): void;
  /** The channel was lost, and another attempt follows; `stopped` if the server was stopped on purpose. */
  lost(stopped: boolean): void;
  /** The daemon no longer accepts the sign-in; no attempt follows. */
  signedOut(): void;
}

/**
 * A channel that opens again after it was lost. Invariant: at most one channel is open, and none after `close`.
 */
export class ReconnectingChannel {
  private channel: Channel | null = null;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private attempt = 0;
  private closed = false;
  private readonly wake = () => this.retryNow();

  constructor(
    private readonly transport: Transport,
    private readonly handlers: ReconnectingHandlers,
  ) {
    // A phone that wakes up or finds its network again should not wait for the next attempt.
    addEventListener('online', this.wake);
    document.addEventListener('visibilitychange', this.wake);
    this.connect();
  }

  sendText(message: string): void {
    this.channel?.sendText(message);
  }

  sendBinary(message: Uint8Array): void {
    this.channel?.sendBinary(message);
  }

  /** Stops for good. */
  close(): void {
    this.closed = true;
    clearTimeout(this.timer);
    removeEventListener('online', this.wake);
    document.removeEventListener('visibilitychange', this.wake);
    this.channel?.close();
    this.channel = null;
  }

  /** Opens the channel anew, for example to watch instead of to type. */
  reopen(): void {
    this.channel?.close();
    this.channel = null;
    this.attempt = 0;
    clearTimeout(this.timer);
    this.connect();
  }

  private connect(): void {
    if (this.closed) return;
    this.timer = undefined;
    let opened = false;
    this.channel = this.transport.open(this.handlers.request(), {
      open: () => {
        opened = true;
        this.attempt = 0;
        this.handlers.open();
      },
      text: (message) => this.handlers.text(message),
      binary: (message, handled) => this.handlers.binary?.(message, handled),
      closed: (stopped = false) => {
        this.channel = null;
        this.handlers.lost(stopped);
        void this.afterLoss(opened);
      },
    });
  }

  private async afterLoss(opened: boolean): Promise<void> {
    // A channel that was open is tried again at once; only one that cannot be opened needs a reason.
    const reason: Reachability = opened && this.attempt === 0 ? 'reachable' : await this.transport.probe();
    if (this.closed || this.channel) return;
    if (reason === 'signed-out') {
      this.handlers.signedOut();
      return;
    }
    this.timer = setTimeout(() => this.connect(), backoffDelay(this.attempt));
    this.attempt += 1;
  }

  private retryNow(): void {
    if (this.timer === undefined || document.visibilityState !== 'visible') return;
    clearTimeout(this.timer);
    this.connect();
  }
}
