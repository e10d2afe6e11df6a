import { App } from '../model/app';
import { Store } from '../model/store';
import { Dialler, type Stage } from './dialler';
import { readInvitation } from './invitation';
import { rememberMachine } from './machines';
import type { Tunnel } from './tunnel';

export interface ConnectState {
  /** Null on the start page. */
  stage: Exclude<Stage, { at: 'connected' }> | null;
  /** What is wrong with the text that was pasted. */
  problem: string;
  connected: { tunnel: Tunnel; app: App } | null;
}

const START: ConnectState = { stage: null, problem: '', connected: null };

/** The page for tunnels: at its start, on the way to a machine, or connected to one. */
export class ConnectModel {
  readonly store = new Store<ConnectState>(START);
  private dialler: Dialler | null = null;

  /** Connects by an address or an envelope. */
  connect(text: string): void {
    try {
      const invitation = readInvitation(text, location.href);
      if (!invitation) return;
      this.leave();
      this.dialler = new Dialler(invitation, (stage) => this.reached(stage));
    } catch (error) {
      this.store.set({ problem: error instanceof Error ? error.message : String(error) });
    }
  }

  /** Back to the start page. */
  leave(): void {
    this.dialler?.cancel();
    this.dialler = null;
    const { connected } = this.store.get();
    connected?.tunnel.close();
    connected?.app.control.close();
    this.store.set(START);
    document.title = 'Switchboard';
  }

  private reached(stage: Stage): void {
    if (stage.at !== 'connected') {
      this.store.set({ stage });
      return;
    }
    const { tunnel } = stage;
    rememberMachine({ id: tunnel.machine.machineId, hostname: tunnel.machine.hostname, at: Date.now() });
    this.store.set({ stage: null, connected: { tunnel, app: new App(tunnel.transport) } });
  }
}
