import { describe, expect, it } from 'vitest';
import { diffLines } from '../text/diff';
import { present, reasonAdds, restAdds } from './present';

describe('present', () => {
  it('shows a command with its arguments apart', () => {
    expect(present({ command: ['rm', '-rf', 'a b'] }).command).toBe("rm -rf 'a b'");
    expect(present({ command: 'make test', cwd: '/src' })).toMatchObject({ command: 'make test', rest: [['cwd', '/src']] });
  });

  it('shows an edit as a difference', () => {
    const { path, diff } = present({ file_path: '/a', old_string: 'x\ny', new_string: 'x\nz' });
    expect(path).toBe('/a');
    expect(diff).toEqual([
      { kind: 'same', text: 'x' },
      { kind: 'removed', text: 'y' },
      { kind: 'added', text: 'z' },
    ]);
  });

  it('leaves nothing out', () => {
    expect(present({ path: '/a', mode: 420, nested: { b: 1 } }).rest).toEqual([
      ['mode', '420'],
      ['nested', '{\n  "b": 1\n}'],
    ]);
  });

  it.each([undefined, null, 3, 'text', ['a'], []])('accepts %j', (value) => {
    expect(() => present(value)).not.toThrow();
  });
});

describe('diffLines', () => {
  it('leaves out what is far from a change', () => {
    const before = Array.from({ length: 20 }, (_, i) => `line ${i}`);
    const after = before.with(10, 'changed');
    const lines = diffLines(before.join('\n'), after.join('\n'));
    expect(lines.filter((line) => line.kind === 'hunk')).toHaveLength(2);
    expect(lines.filter((line) => line.kind === 'same')).toHaveLength(6);
  });

  it('repeats no reason that names what is shown anyway', () => {
    const command = present({ command: 'cargo test' });
    expect(reasonAdds('The agent asks to run: cargo test', command)).toBe(false);
    expect(reasonAdds('To see whether the change works', command)).toBe(true);
    expect(reasonAdds('', command)).toBe(false);
  });

  it('repeats no parameter that is a line of what is shown', () => {
    const dialog = present({ detail: 'Bash command\ncargo test', question: 'Proceed?', subject: 'cargo test', mode: 'test' });
    expect(restAdds(dialog, 'Proceed?')).toEqual([['mode', 'test']]);
  });
});
