import { EMPTY_LAYOUT, type Layout, leaves, MIN_SHARE, type Node, type Tab } from './tree';

/** More panes than this have no room on any screen. */
const MAX_PANES = 24;

function readTab(value: unknown): Tab | null {
  const tab = value as { kind?: unknown; pty?: unknown } | null;
  if (tab?.kind === 'turns' || tab?.kind === 'chat') return { kind: tab.kind };
  if (tab?.kind === 'terminal' && Number.isSafeInteger(tab.pty)) return { kind: 'terminal', pty: tab.pty as number };
  return null;
}

function readNode(value: unknown, nextId: { value: number }): Node | null {
  if (typeof value !== 'object' || value === null) return null;
  const node = value as Record<string, unknown>;
  const id = nextId.value++;
  if (node['kind'] === 'leaf') {
    const tab = readTab(node['tab']);
    return tab && typeof node['session'] === 'string' ? { kind: 'leaf', id, session: node['session'], tab } : null;
  }
  if (node['kind'] !== 'split' || typeof node['share'] !== 'number') return null;
  const first = readNode(node['first'], nextId);
  const second = readNode(node['second'], nextId);
  if (!first || !second) return first ?? second;
  const share = Math.min(1 - MIN_SHARE, Math.max(MIN_SHARE, node['share']));
  return { kind: 'split', id, direction: node['direction'] === 'column' ? 'column' : 'row', share, first, second };
}

export function writeLayout(layout: Layout): string {
  const focus = leaves(layout.root).findIndex((leaf) => leaf.id === layout.focus);
  return JSON.stringify({ root: layout.root, focus });
}

/** Reads what `writeLayout` wrote. Storage may hold anything: what cannot be read is left out. */
export function readLayout(text: string | null): Layout {
  if (!text) return EMPTY_LAYOUT;
  try {
    const saved = JSON.parse(text) as { root?: unknown; focus?: unknown };
    const nextId = { value: 1 };
    const root = readNode(saved.root, nextId);
    const all = leaves(root);
    if (all.length === 0 || all.length > MAX_PANES) return EMPTY_LAYOUT;
    const focus = all[Number(saved.focus)] ?? all[0];
    return { root, focus: focus?.id ?? 0, zoomed: null, nextId: nextId.value };
  } catch {
    return EMPTY_LAYOUT;
  }
}

const key = (machine: string) => `switchboard.layout.${machine}`;

export function loadLayout(machine: string): Layout {
  try {
    return readLayout(localStorage.getItem(key(machine)));
  } catch {
    return EMPTY_LAYOUT;
  }
}

export function saveLayout(machine: string, layout: Layout): void {
  try {
    localStorage.setItem(key(machine), writeLayout(layout));
  } catch {
    // Private windows may refuse storage; the layout is then kept until the page is closed.
  }
}
