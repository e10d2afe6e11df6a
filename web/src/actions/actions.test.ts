import { describe, expect, it } from 'vitest';
import { ACTIONS } from './actions';
import { matches, parseChord } from './chord';
import { score } from './fuzzy';

const key = (code: string, value: string, modifiers: Partial<Record<'ctrlKey' | 'altKey' | 'shiftKey' | 'metaKey', boolean>> = {}) => ({ code, key: value, ctrlKey: false, altKey: false, shiftKey: false, metaKey: false, ...modifiers });

describe('actions', () => {
  it('have unique ids and keys', () => {
    const keys = ACTIONS.flatMap((action) => action.keys ?? []);
    expect(new Set(keys).size).toBe(keys.length);
    expect(new Set(ACTIONS.map((action) => action.id)).size).toBe(ACTIONS.length);
  });

  it('match their keys only', () => {
    expect(matches(parseChord('Ctrl+Shift+E'), key('KeyE', 'E', { ctrlKey: true, shiftKey: true }))).toBe(true);
    expect(matches(parseChord('Ctrl+Shift+E'), key('KeyE', 'e', { ctrlKey: true }))).toBe(false);
    expect(matches(parseChord('Ctrl+K'), key('KeyK', 'k', { metaKey: true }))).toBe(true);
    expect(matches(parseChord('?'), key('Slash', '?', { shiftKey: true }))).toBe(true);
    expect(matches(parseChord('?'), key('Minus', '?', { shiftKey: true, ctrlKey: true }))).toBe(false);
    expect(matches(parseChord('Ctrl+Shift+Plus'), key('Equal', '+', { ctrlKey: true, shiftKey: true }))).toBe(true);
  });
});

describe('score', () => {
  it('needs all characters in order', () => {
    expect(score('spr', 'Split to the right')).not.toBeNull();
    expect(score('rps', 'Split')).toBeNull();
  });

  it('prefers beginnings of words', () => {
    expect(score('ns', 'New session…') ?? 0).toBeGreaterThan(score('ns', 'Switch notifications on') ?? 0);
  });
});
