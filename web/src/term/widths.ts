import type { Terminal } from '@xterm/xterm';

/** Whether every character is ASCII, whose width is the same in all versions of Unicode. */
export function isPlain(bytes: Uint8Array): boolean {
  return bytes.every((byte) => byte < 0x80);
}

/**
 * Gives a terminal the widths of emoji and combined characters. The tables take a while to unpack, which a screen without
 * such characters need not wait for.
 */
export async function loadWidths(terminal: Terminal): Promise<void> {
  try {
    const { UnicodeGraphemesAddon } = await import('@xterm/addon-unicode-graphemes');
    terminal.loadAddon(new UnicodeGraphemesAddon());
  } catch {
    // The page goes on with the older widths of xterm.js.
  }
}
