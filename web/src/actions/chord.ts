/**
 * Key combinations such as `Ctrl+Shift+E`, `Alt+1` or `?`. `Ctrl` also accepts Command, as on a Mac. A combination with
 * a modifier is compared by the place of the key, so that it works with every keyboard layout; a single character by
 * what it types.
 */
export interface Chord {
  ctrl: boolean;
  alt: boolean;
  shift: boolean;
  key: string;
}

export function parseChord(text: string): Chord {
  const parts = text.split('+');
  const key = parts.pop() ?? '';
  return { ctrl: parts.includes('Ctrl'), alt: parts.includes('Alt'), shift: parts.includes('Shift'), key };
}

const CODES: Record<string, string> = { '+': 'Equal', '-': 'Minus', Plus: 'Equal' };

function codeOf(key: string): string {
  if (/^[A-Z]$/u.test(key)) return `Key${key}`;
  if (/^\d$/u.test(key)) return `Digit${key}`;
  return CODES[key] ?? key;
}

type KeyLike = Pick<KeyboardEvent, 'ctrlKey' | 'metaKey' | 'altKey' | 'shiftKey' | 'key' | 'code'>;

export function matches(chord: Chord, event: KeyLike): boolean {
  const ctrl = event.ctrlKey || event.metaKey;
  if (!chord.ctrl && !chord.alt) return !ctrl && !event.altKey && event.key === chord.key;
  if (ctrl !== chord.ctrl || event.altKey !== chord.alt || event.shiftKey !== chord.shift) return false;
  return event.code === codeOf(chord.key) || event.key === chord.key;
}
