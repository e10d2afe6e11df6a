export interface Size {
  cols: number;
  rows: number;
}

export function sameSize(a: Size | null, b: Size | null): boolean {
  return a !== null && b !== null && a.cols === b.cols && a.rows === b.rows;
}

/**
 * The size with which to watch a PTY: its own if the pane has room for it, because then every byte is shown exactly;
 * else that of the pane, for which the daemon sends the part around the cursor.
 */
export function watchSize(pane: Size, pty: Size | null): Size {
  return pty && pty.cols <= pane.cols && pty.rows <= pane.rows ? pty : pane;
}
