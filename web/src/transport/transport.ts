/**
 * How bytes and messages reach the daemon. The page knows three kinds of channels; a WebSocket carries each of them
 * today, and another transport only has to implement this interface.
 */

export type ChannelRequest =
  | { kind: 'control' }
  | { kind: 'chat' }
  | { kind: 'terminal'; session: string; pty: number; resume: number | null; watch: boolean };

export interface ChannelHandlers {
  open(): void;
  text(message: string): void;
  binary(message: Uint8Array): void;
  /** Called once, also for a channel that never opened. */
  closed(): void;
}

export interface Channel {
  sendText(message: string): void;
  sendBinary(message: Uint8Array): void;
  /** Closes the channel; no handler is called afterwards. */
  close(): void;
}

/** Why a channel cannot be opened: the daemon is away, or it no longer accepts our sign-in. */
export type Reachability = 'reachable' | 'unreachable' | 'signed-out';

export interface Transport {
  open(request: ChannelRequest, handlers: ChannelHandlers): Channel;
  /** A browser does not reveal why a WebSocket failed, so this asks separately. */
  probe(): Promise<Reachability>;
}
