/** The machines that this browser has been connected to by a tunnel, the last one first, in the browser's storage. */
import { loadLayout } from '../layout/saved';
import { leaves } from '../layout/tree';

export interface KnownMachine {
  id: string;
  hostname: string;
  /** When it was connected last. */
  at: number;
}

const KEY = 'switchboard.machines';
const MOST = 32;

/** Reads the list. Storage may hold anything: what cannot be read is left out. */
export function knownMachines(): KnownMachine[] {
  try {
    const saved: unknown = JSON.parse(localStorage.getItem(KEY) ?? '[]');
    return Array.isArray(saved) ? saved.filter(isMachine).slice(0, MOST) : [];
  } catch {
    return [];
  }
}

function isMachine(value: unknown): value is KnownMachine {
  const { id, hostname, at } = (value ?? {}) as Record<string, unknown>;
  return typeof id === 'string' && typeof hostname === 'string' && Number.isFinite(at);
}

export function rememberMachine(machine: KnownMachine): void {
  save([machine, ...knownMachines().filter(({ id }) => id !== machine.id)]);
}

/** Forgets a machine, and its layout. */
export function forgetMachine(id: string): void {
  save(knownMachines().filter((machine) => machine.id !== id));
  try {
    localStorage.removeItem(`switchboard.layout.${id}`);
  } catch {
    // Then nothing was stored.
  }
}

/** The sessions that were open on a machine last. */
export function lastSessions(id: string): string[] {
  return [...new Set(leaves(loadLayout(id).root).map((leaf) => leaf.session))];
}

function save(machines: KnownMachine[]): void {
  try {
    localStorage.setItem(KEY, JSON.stringify(machines.slice(0, MOST)));
  } catch {
    // Private windows may refuse storage.
  }
}
