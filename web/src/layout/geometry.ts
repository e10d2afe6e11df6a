import type { Layout, Node, Split } from './tree';

/** Shares of the whole area, each from 0 to 1. */
export interface Rect {
  left: number;
  top: number;
  width: number;
  height: number;
}

export interface Divider {
  id: number;
  direction: Split['direction'];
  share: number;
  /** The area that the split divides; the divider is a line in it. */
  area: Rect;
}

const WHOLE: Rect = { left: 0, top: 0, width: 1, height: 1 };

function divide(area: Rect, split: Split): [Rect, Rect] {
  const { share } = split;
  if (split.direction === 'row') {
    return [
      { ...area, width: area.width * share },
      { ...area, left: area.left + area.width * share, width: area.width * (1 - share) },
    ];
  }
  return [
    { ...area, height: area.height * share },
    { ...area, top: area.top + area.height * share, height: area.height * (1 - share) },
  ];
}

/**
 * Where each pane and each divider is. Panes are placed by these rectangles and not nested in the document, so that a
 * split or a closed pane never moves another terminal to a new element, which would have to be painted again.
 */
export function geometry(layout: Layout): { panes: Map<number, Rect>; dividers: Divider[] } {
  const panes = new Map<number, Rect>();
  const dividers: Divider[] = [];
  const visit = (node: Node, area: Rect): void => {
    if (node.kind === 'leaf') {
      panes.set(node.id, area);
      return;
    }
    const [first, second] = divide(area, node);
    dividers.push({ id: node.id, direction: node.direction, share: node.share, area });
    visit(node.first, first);
    visit(node.second, second);
  };
  if (layout.root) visit(layout.root, WHOLE);
  if (layout.zoomed !== null && panes.has(layout.zoomed)) {
    return { panes: new Map([[layout.zoomed, WHOLE]]), dividers: [] };
  }
  return { panes, dividers };
}
