/**
 * How bytes and messages reach the daemon. The page knows three kinds of channels: a WebSocket carries each of them, and
 * a tunnel carries the first and the last (`tunnel/datachannel.ts`).
 */

export type ChannelRequest =
  | { kind: 'control' }
  | { kind: 'chat' }
  | { kind: 'terminal'; session: string; pty: number; resume: number | null; watch: boolean };

export interface ChannelHandlers {
  open(): void;
  text(message: string): void;
  /** `handled` is to be called when the bytes have been parsed; a transport may wait for that before it sends more. */
  binary(message: Uint8Array, handled: () => void): void;
  /** Called once, also for a channel that never opened; `stopped` if the server was stopped on purpose. */
  closed(stopped?: boolean): void;
}

export interface Channel {
  sendText(message: string): void;
  sendBinary(message: Uint8Array): void;
  /** Closes the channel; no handler is called afterwards. */
  close(): void;
}

/** Why a channel cannot be opened: the daemon is away, or it no longer accepts our sign-in, or our tunnel has ended. */
export type Reachability = 'reachable' | 'unreachable' | 'signed-out';

export interface Transport {
  /** Which machine this is, if the transport knows that better than the machine's name. */
  readonly machine?: string;
  open(request: ChannelRequest, handlers: ChannelHandlers): Channel;
  /** A browser does not reveal why a WebSocket failed, so this asks separately. */
  probe(): Promise<Reachability>;
  /** Makes this browser forget its sign-in, if it has one; returns whether it has. */
  signOut?(): Promise<boolean>;
}
