import { describe, expect, it } from 'vitest';
import { geometry } from './geometry';
import { readLayout, writeLayout } from './saved';
import { AGENT_TAB, closeLeaf, EMPTY_LAYOUT, focusedLeaf, focusNext, type Layout, leaves, setShare, showSession, splitLeaf, toggleZoom, withoutMissing } from './tree';

function twoPanes(): Layout {
  const one = showSession(EMPTY_LAYOUT, 'api');
  return splitLeaf(one, focusedLeaf(one)?.id ?? 0, 'row', 'web', AGENT_TAB);
}

describe('layout', () => {
  it('shows the first session in a first pane', () => {
    const layout = showSession(EMPTY_LAYOUT, 'api');
    expect(leaves(layout.root).map((leaf) => leaf.session)).toEqual(['api']);
    expect(focusedLeaf(layout)?.session).toBe('api');
  });

  it('focuses the pane that already shows a session', () => {
    const layout = showSession(twoPanes(), 'api');
    expect(leaves(layout.root)).toHaveLength(2);
    expect(focusedLeaf(layout)?.session).toBe('api');
  });

  it('replaces the session of the focused pane otherwise', () => {
    const layout = showSession(twoPanes(), 'docs');
    expect(leaves(layout.root).map((leaf) => leaf.session)).toEqual(['api', 'docs']);
  });

  it('gives the space of a closed pane to its neighbour', () => {
    const layout = twoPanes();
    const closed = closeLeaf(layout, focusedLeaf(layout)?.id ?? 0);
    expect(leaves(closed.root).map((leaf) => leaf.session)).toEqual(['api']);
    expect(focusedLeaf(closed)?.session).toBe('api');
    expect([...geometry(closed).panes.values()]).toEqual([{ left: 0, top: 0, width: 1, height: 1 }]);
  });

  it('closes the last pane', () => {
    const layout = showSession(EMPTY_LAYOUT, 'api');
    expect(closeLeaf(layout, layout.focus).root).toBeNull();
  });

  it('never makes a pane smaller than the smallest share', () => {
    const layout = twoPanes();
    const id = layout.root?.id ?? 0;
    const { dividers } = geometry(setShare(layout, id, 0.01));
    expect(dividers[0]?.share).toBe(0.1);
  });

  it('divides areas by the shares of the splits', () => {
    const layout = twoPanes();
    const nested = splitLeaf(setShare(layout, layout.root?.id ?? 0, 0.25), layout.focus, 'column', 'docs', AGENT_TAB);
    expect([...geometry(nested).panes.values()]).toEqual([
      { left: 0, top: 0, width: 0.25, height: 1 },
      { left: 0.25, top: 0, width: 0.75, height: 0.5 },
      { left: 0.25, top: 0.5, width: 0.75, height: 0.5 },
    ]);
  });

  it('shows only the zoomed pane', () => {
    const layout = twoPanes();
    const zoomed = toggleZoom(layout, layout.focus);
    expect([...geometry(zoomed).panes.keys()]).toEqual([layout.focus]);
    expect(geometry(toggleZoom(zoomed, layout.focus)).panes.size).toBe(2);
  });

  it('moves the focus around the end', () => {
    const layout = twoPanes();
    expect(focusedLeaf(focusNext(layout, 1))?.session).toBe('api');
    expect(focusedLeaf(focusNext(focusNext(layout, 1), 1))?.session).toBe('web');
  });

  it('closes panes of missing sessions and leaves shells that ended', () => {
    let layout = twoPanes();
    layout = showSession(layout, 'web', { kind: 'terminal', pty: 3 });
    const cleaned = withoutMissing(layout, (session) => (session === 'web' ? [0, 1] : null));
    expect(leaves(cleaned.root)).toMatchObject([{ session: 'web', tab: AGENT_TAB }]);
  });

  it('is the same after it was saved and read', () => {
    const layout = setShare(twoPanes(), twoPanes().root?.id ?? 0, 0.3);
    const read = readLayout(writeLayout(layout));
    expect(geometry(read).dividers[0]?.share).toBe(0.3);
    expect(leaves(read.root).map((leaf) => leaf.session)).toEqual(['api', 'web']);
    expect(focusedLeaf(read)?.session).toBe('web');
  });

  it.each(['', 'null', '{}', '{"root":{"kind":"split"}}', '{"root":{"kind":"leaf","session":3}}', '[1', '{"root":{"kind":"leaf","session":"a","tab":{"kind":"terminal","pty":"x"}}}'])(
    'reads nothing from %j',
    (text) => {
      expect(readLayout(text)).toEqual(EMPTY_LAYOUT);
    },
  );
});
