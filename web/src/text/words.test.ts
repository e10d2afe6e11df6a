import { describe, expect, it } from 'vitest';
import { joinWords, splitWords } from './words';

describe('splitWords', () => {
  it('splits at white space and keeps quoted parts together', () => {
    expect(splitWords(`codex --full-auto "two words" 'it''s' a\\ b`)).toEqual(['codex', '--full-auto', 'two words', 'its', 'a b']);
    expect(splitWords('  ')).toEqual([]);
    expect(splitWords(String.raw`sh -c "echo \"\$HOME\""`)).toEqual(['sh', '-c', 'echo "$HOME"']);
  });

  it('reads back what was joined', () => {
    for (const words of [['sh', '-c', 'echo "a b"; exit 3'], ["it's", ''], ['a\\b', '$HOME']]) expect(splitWords(joinWords(words))).toEqual(words);
  });
});
