/**
 * The panes of the window as a tree: a leaf shows one session, a split divides its area between two nodes. Pure; every
 * function returns a new tree and leaves unaffected parts identical.
 */

/** What a pane shows of its session. */
export type Tab = { kind: 'terminal'; pty: number } | { kind: 'turns' } | { kind: 'chat' };

export interface Leaf {
  kind: 'leaf';
  id: number;
  session: string;
  tab: Tab;
}

export interface Split {
  kind: 'split';
  id: number;
  /** `row`: side by side; `column`: one above the other. */
  direction: 'row' | 'column';
  /** Share of the first node, between MIN_SHARE and 1 − MIN_SHARE. */
  share: number;
  first: Node;
  second: Node;
}

export type Node = Leaf | Split;

export interface Layout {
  root: Node | null;
  /** Id of the leaf that has the focus. */
  focus: number;
  /** Id of the leaf that covers all others, or null. */
  zoomed: number | null;
  nextId: number;
}

export const MIN_SHARE = 0.1;
export const CHAT_TAB: Tab = { kind: 'chat' };
export const AGENT_TAB: Tab = { kind: 'terminal', pty: 0 };
export const EMPTY_LAYOUT: Layout = { root: null, focus: 0, zoomed: null, nextId: 1 };

export function leaves(node: Node | null): Leaf[] {
  if (!node) return [];
  return node.kind === 'leaf' ? [node] : [...leaves(node.first), ...leaves(node.second)];
}

export function focusedLeaf(layout: Layout): Leaf | null {
  const all = leaves(layout.root);
  return all.find((leaf) => leaf.id === layout.focus) ?? all[0] ?? null;
}

export function sameTab(a: Tab, b: Tab): boolean {
  return a.kind === b.kind && (a.kind !== 'terminal' || b.kind !== 'terminal' || a.pty === b.pty);
}

function replace(node: Node, id: number, change: (node: Node) => Node | null): Node | null {
  if (node.id === id) return change(node);
  if (node.kind === 'leaf') return node;
  const first = replace(node.first, id, change);
  const second = first === node.first ? replace(node.second, id, change) : node.second;
  if (first === node.first && second === node.second) return node;
  if (!first) return second;
  if (!second) return first;
  return { ...node, first, second };
}

function update(layout: Layout, id: number, change: (node: Node) => Node | null): Layout {
  if (!layout.root) return layout;
  const root = replace(layout.root, id, change);
  return root === layout.root ? layout : { ...layout, root };
}

/** Shows a session: in the pane that has it already, else in the focused pane, else in a first pane. */
export function showSession(layout: Layout, session: string, tab: Tab = AGENT_TAB): Layout {
  const all = leaves(layout.root);
  const shown = all.find((leaf) => leaf.session === session && sameTab(leaf.tab, tab)) ?? all.find((leaf) => leaf.session === session);
  if (shown) return focusLeaf(setTab(layout, shown.id, tab), shown.id);
  const target = focusedLeaf(layout);
  if (!target) {
    const leaf: Leaf = { kind: 'leaf', id: layout.nextId, session, tab };
    return { root: leaf, focus: leaf.id, zoomed: null, nextId: layout.nextId + 1 };
  }
  return update(layout, target.id, () => ({ ...target, session, tab }));
}

export function focusLeaf(layout: Layout, id: number): Layout {
  if (layout.focus === id) return layout;
  return { ...layout, focus: id, zoomed: layout.zoomed === null ? null : id };
}

export function setTab(layout: Layout, id: number, tab: Tab): Layout {
  return update(layout, id, (node) => (node.kind === 'leaf' && !sameTab(node.tab, tab) ? { ...node, tab } : node));
}

/** Divides a pane; the new one shows the given session and gets the focus. */
export function splitLeaf(layout: Layout, id: number, direction: Split['direction'], session: string, tab: Tab): Layout {
  const leaf: Leaf = { kind: 'leaf', id: layout.nextId, session, tab };
  const changed = update(layout, id, (node) => ({
    kind: 'split',
    id: layout.nextId + 1,
    direction,
    share: 0.5,
    first: node,
    second: leaf,
  }));
  return changed === layout ? layout : { ...changed, focus: leaf.id, zoomed: null, nextId: layout.nextId + 2 };
}

export function closeLeaf(layout: Layout, id: number): Layout {
  const order = leaves(layout.root);
  const index = order.findIndex((leaf) => leaf.id === id);
  if (index < 0 || !layout.root) return layout;
  const root = replace(layout.root, id, () => null);
  const neighbour = order[index === 0 ? 1 : index - 1];
  const focus = layout.focus === id ? (neighbour?.id ?? 0) : layout.focus;
  return { ...layout, root, focus, zoomed: layout.zoomed === id ? null : layout.zoomed };
}

export function setShare(layout: Layout, id: number, share: number): Layout {
  const bounded = Math.min(1 - MIN_SHARE, Math.max(MIN_SHARE, share));
  return update(layout, id, (node) => (node.kind === 'split' ? { ...node, share: bounded } : node));
}

export function toggleZoom(layout: Layout, id: number): Layout {
  return { ...layout, focus: id, zoomed: layout.zoomed === id ? null : id };
}

/** The leaf `step` places after the focused one, in reading order and around the end. */
export function focusNext(layout: Layout, step: number): Layout {
  const all = leaves(layout.root);
  const index = all.findIndex((leaf) => leaf.id === focusedLeaf(layout)?.id);
  const next = all[(index + step + all.length) % all.length];
  return next ? focusLeaf(layout, next.id) : layout;
}

/** Closes the panes of sessions that no longer exist, and returns tabs of shells that ended to the agent. */
export function withoutMissing(layout: Layout, ptysOf: (session: string) => readonly number[] | null): Layout {
  let result = layout;
  for (const leaf of leaves(layout.root)) {
    const ptys = ptysOf(leaf.session);
    if (!ptys) result = closeLeaf(result, leaf.id);
    else if (leaf.tab.kind === 'terminal' && leaf.tab.pty !== 0 && !ptys.includes(leaf.tab.pty)) {
      result = setTab(result, leaf.id, AGENT_TAB);
    }
  }
  return result;
}
