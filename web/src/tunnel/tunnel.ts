import type { Role } from '../protocol/control';
import { Store } from '../model/store';
import { DataChannelTransport, type TunnelEnd } from './datachannel';
import type { Envelope } from './invitation';

/** `interrupted`: nothing arrives at the moment, but it may still come back. */
export type TunnelState = 'connected' | 'interrupted' | 'ended';

/** A tunnel whose ends have proved who they are. It ends once, and cannot be opened again. */
export class Tunnel {
  readonly store = new Store<{ state: TunnelState; unreachable: boolean; reason: TunnelEnd | null }>({ state: 'connected', unreachable: false, reason: null });
  readonly transport: DataChannelTransport;

  constructor(
    private readonly connection: RTCPeerConnection,
    control: RTCDataChannel,
    readonly machine: Envelope,
    readonly role: Role,
  ) {
    this.transport = new DataChannelTransport(control, machine.machineId);
    connection.ondatachannel = ({ channel }) => this.transport.accept(channel);
    connection.onconnectionstatechange = () => this.connectionChanged();
    control.onclose = () => this.end(false);
    // The host would wait a minute for a page that just disappears.
    addEventListener('pagehide', () => this.close());
    if (control.readyState !== 'open') this.end(false);
  }

  close(): void {
    this.end(false);
  }

  private connectionChanged(): void {
    const { connectionState } = this.connection;
    if (connectionState === 'failed' || connectionState === 'closed') this.end(true);
    else if (this.store.get().state !== 'ended') this.store.set({ state: connectionState === 'connected' ? 'connected' : 'interrupted' });
  }

  private end(unreachable: boolean): void {
    if (this.store.get().state === 'ended') return;
    this.store.set({ state: 'ended', unreachable, reason: this.transport.reason });
    this.transport.end();
    this.connection.onconnectionstatechange = null;
    this.connection.close();
  }
}
