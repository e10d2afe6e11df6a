import type { ITheme } from '@xterm/xterm';

const DARK: ITheme = {
  background: '#111317',
  foreground: '#d9dce2',
  cursor: '#7aa2ff',
  cursorAccent: '#111317',
  selectionBackground: '#34457a',
  black: '#23272f',
  red: '#f2777a',
  green: '#8cc98f',
  yellow: '#e2b86b',
  blue: '#7aa2ff',
  magenta: '#c594e8',
  cyan: '#6fc3cf',
  white: '#c9cdd4',
  brightBlack: '#7b828e',
  brightRed: '#ff9396',
  brightGreen: '#a5dca8',
  brightYellow: '#f2cd8b',
  brightBlue: '#9bb9ff',
  brightMagenta: '#d8b1f2',
  brightCyan: '#8ed8e2',
  brightWhite: '#f2f4f7',
};

const LIGHT: ITheme = {
  background: '#ffffff',
  foreground: '#22262d',
  cursor: '#2b5fd9',
  cursorAccent: '#ffffff',
  selectionBackground: '#c9d8fb',
  black: '#22262d',
  red: '#b3261e',
  green: '#1f7a34',
  yellow: '#875a00',
  blue: '#2b5fd9',
  magenta: '#8a3fb0',
  cyan: '#0b7285',
  white: '#6a7280',
  brightBlack: '#5b6370',
  brightRed: '#c93b32',
  brightGreen: '#2a8a41',
  brightYellow: '#9a6b0a',
  brightBlue: '#3f72ea',
  brightMagenta: '#9d55c2',
  brightCyan: '#1b8296',
  brightWhite: '#3a404a',
};

export const darkScheme = matchMedia('(prefers-color-scheme: dark)');

export function terminalTheme(): ITheme {
  return darkScheme.matches ? DARK : LIGHT;
}

/** Colours of search results; xterm.js accepts only #rrggbb here. */
export function searchDecorations() {
  return darkScheme.matches
    ? { matchBackground: '#4a3f1d', activeMatchBackground: '#a3791b', matchOverviewRuler: '#a3791b', activeMatchColorOverviewRuler: '#e2b86b' }
    : { matchBackground: '#fbe8b6', activeMatchBackground: '#f0b429', matchOverviewRuler: '#d99e1e', activeMatchColorOverviewRuler: '#875a00' };
}
