export interface DiffLine {
  kind: 'same' | 'added' | 'removed' | 'hunk';
  text: string;
}

/** Beyond this the quadratic comparison would be felt; the texts are then shown one after the other. */
const MAX_CELLS = 400_000;

/** Line by line differences of two texts, by their longest common subsequence. */
export function diffLines(before: string, after: string): DiffLine[] {
  const a = before === '' ? [] : before.split('\n');
  const b = after === '' ? [] : after.split('\n');
  if (a.length * b.length > MAX_CELLS) {
    return [...a.map((text): DiffLine => ({ kind: 'removed', text })), ...b.map((text): DiffLine => ({ kind: 'added', text }))];
  }
  const width = b.length + 1;
  const lengths = new Uint32Array((a.length + 1) * width);
  const at = (i: number, j: number) => lengths[i * width + j] ?? 0;
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      lengths[i * width + j] = a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  const lines: DiffLine[] = [];
  let i = 0;
  let j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      lines.push({ kind: 'same', text: a[i] ?? '' });
      i += 1;
      j += 1;
    } else if (i < a.length && (j === b.length || at(i + 1, j) >= at(i, j + 1))) {
      lines.push({ kind: 'removed', text: a[i] ?? '' });
      i += 1;
    } else {
      lines.push({ kind: 'added', text: b[j] ?? '' });
      j += 1;
    }
  }
  return withContext(lines, 3);
}

/** Leaves out unchanged lines that are further than `context` from a change. */
function withContext(lines: DiffLine[], context: number): DiffLine[] {
  const near = lines.map((_, i) => lines.slice(Math.max(0, i - context), i + context + 1).some((line) => line.kind !== 'same'));
  const result: DiffLine[] = [];
  lines.forEach((line, i) => {
    if (near[i]) result.push(line);
    else if (i === 0 || near[i - 1]) result.push({ kind: 'hunk', text: '⋯' });
  });
  return result;
}

/** Reads a unified diff; headers of files become hunks. */
export function readUnifiedDiff(text: string): DiffLine[] {
  return text.split('\n').map((line): DiffLine => {
    if (/^(@@|---|\+\+\+|diff |index )/u.test(line)) return { kind: 'hunk', text: line };
    if (line.startsWith('+')) return { kind: 'added', text: line.slice(1) };
    if (line.startsWith('-')) return { kind: 'removed', text: line.slice(1) };
    return { kind: 'same', text: line.startsWith(' ') ? line.slice(1) : line };
  });
}
