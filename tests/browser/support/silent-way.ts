import { connect, createServer, type Server, type Socket } from 'node:net';
import type { AddressInfo } from 'node:net';

/**
 * A way to a server that can go silent, as a network does for a device that sleeps or changes it: connections stay open, nothing
 * arrives any more, and neither end is told. New connections work.
 */
export class SilentWay {
  private readonly sockets = new Set<Socket>();

  private constructor(
    private readonly server: Server,
    readonly port: number,
  ) {}

  static async to(port: number): Promise<SilentWay> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const way = new SilentWay(server, (server.address() as AddressInfo).port);
    server.on('connection', (client) => way.join(client, connect(port, '127.0.0.1')));
    return way;
  }

  /** From here on nothing passes on the connections that are open now. */
  silence(): void {
    for (const socket of this.sockets) {
      socket.unpipe();
      socket.removeAllListeners('close');
      socket.resume();
    }
  }

  close(): void {
    this.server.close();
    for (const socket of this.sockets) socket.destroy();
  }

  private join(one: Socket, other: Socket): void {
    for (const [from, to] of [[one, other], [other, one]] as const) {
      this.sockets.add(from);
      from.on('error', () => {}); // Its end is what counts.
      from.on('close', () => to.destroy());
      from.pipe(to);
    }
  }
}
