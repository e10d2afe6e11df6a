import { type DiffLine, diffLines, readUnifiedDiff } from '../text/diff';
import { joinWords } from '../text/words';

/** What an approval allows, taken from its parameters, in the order in which a person should read it. */
export interface Presentation {
  command: string | null;
  path: string | null;
  diff: DiffLine[] | null;
  /** Text that will be written, or that a dialog shows. */
  text: string | null;
  address: string | null;
  /** The other parameters, as names and values. */
  rest: [string, string][];
}

const COMMAND = ['command', 'cmd', 'argv', 'script'];
const PATH = ['path', 'file_path', 'filePath', 'filename', 'file', 'abs_path', 'notebook_path'];
const DIFF = ['diff', 'patch', 'unified_diff'];
const BEFORE = ['old_string', 'old_text', 'oldText', 'old_str', 'before'];
const AFTER = ['new_string', 'new_text', 'newText', 'new_str', 'after'];
const TEXT = ['content', 'contents', 'text', 'screen', 'detail', 'question'];
const ADDRESS = ['url', 'address', 'domain'];

function asText(value: unknown): string {
  if (typeof value === 'string') return value;
  if (Array.isArray(value) && value.every((item) => typeof item === 'string')) return joinWords(value);
  return JSON.stringify(value, null, 2) ?? '';
}

/** Whether the reason has anything that the rest of the presentation does not show already. */
export function reasonAdds(reason: string, { command, path, address }: Presentation): boolean {
  return reason !== '' && ![command, path, address].some((shown) => shown !== null && reason.includes(shown));
}

/** The other parameters, without those that stand as a line of their own in what is shown anyway. */
export function restAdds({ rest, text, command }: Presentation, reason: string): [string, string][] {
  const shown = new Set([reason, text ?? '', command ?? ''].flatMap((part) => part.split('\n')).map((line) => line.trim()));
  return rest.filter(([, value]) => !shown.has(value.trim()));
}

export function present(parameters: unknown): Presentation {
  const empty: Presentation = { command: null, path: null, diff: null, text: null, address: null, rest: [] };
  if (typeof parameters !== 'object' || parameters === null || Array.isArray(parameters)) {
    const text = parameters === undefined || parameters === null ? '' : asText(parameters);
    return { ...empty, text: text || null };
  }
  const fields = new Map(Object.entries(parameters).filter(([, value]) => value !== null && value !== ''));
  const take = (names: readonly string[]): string | null => {
    const name = names.find((candidate) => fields.has(candidate));
    if (name === undefined) return null;
    const value = asText(fields.get(name));
    fields.delete(name);
    return value;
  };
  const command = take(COMMAND);
  const path = take(PATH);
  const unified = take(DIFF);
  const before = take(BEFORE);
  const after = take(AFTER);
  const diff = unified !== null ? readUnifiedDiff(unified) : before !== null || after !== null ? diffLines(before ?? '', after ?? '') : null;
  return {
    command,
    path,
    diff,
    text: take(TEXT),
    address: take(ADDRESS),
    rest: [...fields].map(([name, value]) => [name, asText(value)]),
  };
}
