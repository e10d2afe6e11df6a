import type { Channel, ChannelHandlers, ChannelRequest, Reachability, Transport } from './transport';
import { Watchdog } from './watchdog';

/** Time after which a probe counts as failed. */
const PROBE_TIMEOUT_MS = 5000;

/** The reply to this is for nobody. */
const SIGN_OF_LIFE = JSON.stringify({ id: 'sign-of-life', cmd: 'whoami' });

/** The close code of a connection that ended without a goodbye. */
const BROKEN = 1006;

/** The close code of a server that `swb serve --stop` has ended; a daemon that restarts uses another. */
const SERVER_STOPPED = 1001;

export function channelPath(request: ChannelRequest): string {
  if (request.kind === 'control') return '/api/control';
  if (request.kind === 'chat') return '/api/chat';
  const query = new URLSearchParams({ session: request.session, pty: String(request.pty), repaint: '1' });
  if (request.resume !== null) query.set('resume', String(request.resume));
  if (request.watch) query.set('watch', '1');
  return `/ws?${query}`;
}

/**
 * Channels as WebSockets of the page's own origin; the browser adds the cookie of the sign-in. The control channel is
 * watched for signs of life; when it breaks, the other channels have broken, too, even if nothing has shown it yet.
 */
export class WebSocketTransport implements Transport {
  /** Ends a channel as if it was lost; those that are open, the control channel excepted. */
  private readonly others = new Set<() => void>();

  open(request: ChannelRequest, handlers: ChannelHandlers): Channel {
    const url = new URL(channelPath(request), location.href);
    url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
    const socket = new WebSocket(url);
    socket.binaryType = 'arraybuffer';
    let watchdog: Watchdog | null = null;
    const close = () => {
      watchdog?.stop();
      this.others.delete(lose);
      socket.onopen = null;
      socket.onmessage = null;
      socket.onclose = null;
      socket.close();
    };
    const lose = () => {
      close();
      handlers.closed(false);
      if (watchdog) this.loseOthers();
    };
    const sendText = (message: string) => {
      if (socket.readyState === WebSocket.OPEN) socket.send(message);
    };
    socket.onopen = () => {
      if (request.kind === 'control') watchdog = new Watchdog(() => sendText(SIGN_OF_LIFE), lose);
      else this.others.add(lose);
      handlers.open();
    };
    socket.onmessage = (event: MessageEvent<string | ArrayBuffer>) => {
      watchdog?.heard();
      if (typeof event.data === 'string') handlers.text(event.data);
      else handlers.binary(new Uint8Array(event.data), () => {});
    };
    socket.onclose = ({ code }) => {
      close();
      handlers.closed(code === SERVER_STOPPED);
      if (watchdog && code === BROKEN) this.loseOthers();
    };
    return {
      sendText,
      sendBinary: (message) => {
        if (socket.readyState === WebSocket.OPEN) socket.send(message as Uint8Array<ArrayBuffer>);
      },
      close,
    };
  }

  private loseOthers(): void {
    for (const lose of [...this.others]) lose();
  }

  async probe(): Promise<Reachability> {
    try {
      const reply = await fetch('/api/sessions', {
        cache: 'no-store',
        signal: AbortSignal.timeout(PROBE_TIMEOUT_MS),
      });
      return reply.status === 401 || reply.status === 403 ? 'signed-out' : 'reachable';
    } catch {
      return 'unreachable';
    }
  }

  async signOut(): Promise<boolean> {
    try {
      return (await fetch('/api/sign-out', { method: 'POST' })).ok;
    } catch {
      return false;
    }
  }
}
