import type { Channel, ChannelHandlers, ChannelRequest, Reachability, Transport } from './transport';

/** Time after which a probe counts as failed. */
const PROBE_TIMEOUT_MS = 5000;

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

/** Channels as WebSockets of the page's own origin; the browser adds the cookie of the sign-in. */
export class WebSocketTransport implements Transport {
  open(request: ChannelRequest, handlers: ChannelHandlers): Channel {
    const url = new URL(channelPath(request), location.href);
    url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
    const socket = new WebSocket(url);
    socket.binaryType = 'arraybuffer';
    socket.onopen = () => handlers.open();
    socket.onmessage = (event: MessageEvent<string | ArrayBuffer>) => {
      if (typeof event.data === 'string') handlers.text(event.data);
      else handlers.binary(new Uint8Array(event.data), () => {});
    };
    socket.onclose = ({ code }) => handlers.closed(code === SERVER_STOPPED);
    return {
      sendText: (message) => {
        if (socket.readyState === WebSocket.OPEN) socket.send(message);
      },
      sendBinary: (message) => {
        if (socket.readyState === WebSocket.OPEN) socket.send(message as Uint8Array<ArrayBuffer>);
      },
      close: () => {
        socket.onopen = null;
        socket.onmessage = null;
        socket.onclose = null;
        socket.close();
      },
    };
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
