const FIRST_MS = 100;
const LONGEST_MS = 5000;

/**
 * Delay before the attempt with this number, counted from zero. The daemon is back within a fraction of a second after
 * a crash, so the first attempts follow each other quickly; the random part keeps many pages from coming at once.
 */
export function backoffDelay(attempt: number, random: number = Math.random()): number {
  const delay = Math.min(LONGEST_MS, FIRST_MS * 1.7 ** attempt);
  return Math.round(delay * (0.75 + random / 2));
}
