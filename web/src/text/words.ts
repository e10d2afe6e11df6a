/** An argument as a shell would need it, so that spaces inside arguments stay visible. */
export function quoteWord(word: string): string {
  return /^[\w@%+=:,./-]+$/u.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
}

/** A command line that `splitWords` splits into these words again. */
export function joinWords(words: readonly string[]): string {
  return words.map(quoteWord).join(' ');
}

/** Splits a command line into words as a shell does, without executing anything. */
export function splitWords(line: string): string[] {
  const words: string[] = [];
  for (const match of line.matchAll(/(?:[^\s"'\\]|\\.|"(?:[^"\\]|\\.)*"|'[^']*')+/gu)) {
    words.push(
      match[0].replace(/\\(.)|"((?:[^"\\]|\\.)*)"|'([^']*)'/gu, (_, escaped?: string, double?: string, single?: string) => escaped ?? double?.replace(/\\(["\\$`])/gu, '$1') ?? single ?? ''),
    );
  }
  return words;
}

/** A message of the daemon, which begins in lower case, as a sentence of its own. */
export function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
