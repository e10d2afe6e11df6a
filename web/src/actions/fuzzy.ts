/**
 * How well a query matches a text: null if its characters do not occur in order, else higher is better. Beginnings of
 * words and consecutive characters count most.
 */
export function score(query: string, text: string): number | null {
  const wanted = query.toLowerCase().replace(/\s+/gu, '');
  const lower = text.toLowerCase();
  let total = 0;
  let from = 0;
  let last = -2;
  for (const char of wanted) {
    const at = bestPlace(lower, char, from, last);
    if (at < 0) return null;
    if (at === last + 1) total += 6;
    if (at === 0 || /[\s\-_/.:]/u.test(lower[at - 1] ?? '')) total += 8;
    total -= Math.min(4, at - from);
    last = at;
    from = at + 1;
  }
  return total - text.length / 50;
}

/** The next place of a character; one that begins a word is preferred if the rest can still follow. */
function bestPlace(text: string, char: string, from: number, last: number): number {
  const next = text.indexOf(char, from);
  if (next < 0 || next === last + 1) return next;
  for (let at = next; at >= 0; at = text.indexOf(char, at + 1)) {
    if (at === 0 || /[\s\-_/.:]/u.test(text[at - 1] ?? '')) return at;
  }
  return next;
}
