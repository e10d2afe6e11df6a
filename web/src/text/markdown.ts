/**
 * Markdown as agents write it, to a tree that is rendered as elements: headings, paragraphs, lists, quotes, fenced code,
 * tables, rules, emphasis, code, links. There is no HTML in it: tags are text. A text that is still being written parses
 * at any point; an unclosed fence reaches to the end.
 */

export type Inline =
  | { kind: 'text'; text: string }
  | { kind: 'code'; text: string }
  | { kind: 'strong' | 'emphasis' | 'strike'; children: Inline[] }
  | { kind: 'link'; href: string; children: Inline[] };

export type Block =
  | { kind: 'heading'; level: number; children: Inline[] }
  | { kind: 'paragraph'; children: Inline[] }
  | { kind: 'code'; language: string; text: string }
  | { kind: 'quote'; children: Block[] }
  | { kind: 'list'; ordered: boolean; start: number; items: Block[][] }
  | { kind: 'table'; head: Inline[][]; rows: Inline[][][] }
  | { kind: 'rule' };

const FENCE = /^ {0,3}(```+|~~~+)\s*([^\s`]*)/u;
const HEADING = /^ {0,3}(#{1,6})\s+(.*?)\s*#*$/u;
const RULE = /^ {0,3}([-*_])(\s*\1){2,}\s*$/u;
const ITEM = /^(\s*)([-*+]|\d{1,9}[.)])\s+(.*)$/u;
const TABLE_LINE = /^\s*\|?[\s:|-]*-[\s:|-]*\|[\s:|-]*$/u;
/** Quotes and lists within each other end here: deeper ones are shown as text. */
const MAX_DEPTH = 8;

export function parseMarkdown(text: string): Block[] {
  return blocks(text.replace(/\r\n?/gu, '\n').split('\n'), 0);
}

function blocks(lines: readonly string[], depth: number): Block[] {
  const result: Block[] = [];
  let paragraph: string[] = [];
  const flush = () => {
    if (paragraph.length > 0) result.push({ kind: 'paragraph', children: parseInline(paragraph.join('\n')) });
    paragraph = [];
  };
  let i = 0;
  while (i < lines.length) {
    const line = lines[i] ?? '';
    const fence = FENCE.exec(line);
    const heading = HEADING.exec(line);
    if (fence) {
      flush();
      const mark = fence[1] ?? '```';
      const end = lines.findIndex((other, at) => at > i && other.trim().startsWith(mark) && other.trim().replace(/[`~]/gu, '') === '');
      const stop = end < 0 ? lines.length : end;
      result.push({ kind: 'code', language: fence[2] ?? '', text: lines.slice(i + 1, stop).join('\n') });
      i = stop + 1;
    } else if (heading) {
      flush();
      result.push({ kind: 'heading', level: (heading[1] ?? '#').length, children: parseInline(heading[2] ?? '') });
      i += 1;
    } else if (RULE.test(line)) {
      flush();
      result.push({ kind: 'rule' });
      i += 1;
    } else if (/^\s*>/u.test(line) && depth < MAX_DEPTH) {
      flush();
      const start = i;
      while (i < lines.length && /^\s*>/u.test(lines[i] ?? '')) i += 1;
      result.push({ kind: 'quote', children: blocks(lines.slice(start, i).map((l) => l.replace(/^\s*> ?/u, '')), depth + 1) });
    } else if (ITEM.test(line) && depth < MAX_DEPTH && (paragraph.length === 0 || !/^\s*\d/u.test(line) || /^\s*1[.)]/u.test(line))) {
      flush();
      const list = readList(lines, i, depth);
      result.push(list.block);
      i = list.next;
    } else if (line.includes('|') && TABLE_LINE.test(lines[i + 1] ?? '')) {
      flush();
      const table = readTable(lines, i);
      result.push(table.block);
      i = table.next;
    } else if (line.trim() === '') {
      flush();
      i += 1;
    } else {
      paragraph.push(line);
      i += 1;
    }
  }
  flush();
  return result;
}

function readList(lines: readonly string[], from: number, depth: number): { block: Block; next: number } {
  const first = ITEM.exec(lines[from] ?? '');
  const indent = first?.[1]?.length ?? 0;
  const ordered = /\d/u.test(first?.[2] ?? '');
  const items: string[][] = [];
  let i = from;
  while (i < lines.length) {
    const line = lines[i] ?? '';
    const item = ITEM.exec(line);
    const lineIndent = line.length - line.trimStart().length;
    if (item && (item[1]?.length ?? 0) <= indent + 1 && (item[1]?.length ?? 0) >= indent) {
      if (/\d/u.test(item[2] ?? '') !== ordered) break;
      items.push([item[3] ?? '']);
    } else if (line.trim() === '') {
      // A blank line belongs to the list only if the list goes on behind it.
      const next = lines[i + 1] ?? '';
      const continues = next.trim() !== '' && (next.length - next.trimStart().length > indent || ITEM.test(next));
      if (!continues) break;
      items.at(-1)?.push('');
    } else if (lineIndent > indent) {
      items.at(-1)?.push(line.slice(Math.min(lineIndent, indent + (ordered ? 3 : 2))));
    } else if (lines[i - 1]?.trim() === '' || FENCE.test(line) || HEADING.test(line)) break;
    else items.at(-1)?.push(line);
    i += 1;
  }
  const start = Number.parseInt(first?.[2] ?? '1', 10);
  const block: Block = { kind: 'list', ordered, start: Number.isNaN(start) ? 1 : start, items: items.map((item) => blocks(item, depth + 1)) };
  return { block, next: i };
}

function readTable(lines: readonly string[], from: number): { block: Block; next: number } {
  const cells = (line: string) =>
    line
      .trim()
      .replace(/^\||\|$/gu, '')
      .split(/(?<!\\)\|/u)
      .map((cell) => parseInline(cell.trim().replaceAll('\\|', '|')));
  let i = from + 2;
  const rows: Inline[][][] = [];
  while (i < lines.length && (lines[i] ?? '').includes('|')) {
    rows.push(cells(lines[i] ?? ''));
    i += 1;
  }
  return { block: { kind: 'table', head: cells(lines[from] ?? ''), rows }, next: i };
}

const INLINE =
  /(`+)(?<code>[\s\S]*?[^`])\1(?!`)|\[(?<label>[^\]\n]*)\]\((?<href>[^()\s]+(?:\([^()\s]*\))?)[^)\n]*\)|(?<auto>https?:\/\/[^\s<>"')\]]+[^\s<>"')\].,;:!?])|\*\*(?<strong>\S(?:[\s\S]*?\S)?)\*\*|~~(?<strike>\S(?:[\s\S]*?\S)?)~~|(?<![\w*])\*(?<star>[^\s*](?:[^*]*?[^\s*])?)\*(?!\*)|(?<![\w_])_(?<under>[^\s_](?:[^_]*?[^\s_])?)_(?![\w_])|\\(?<escaped>[\\`*_~[\]()#>|-])/gu;

export function parseInline(text: string, depth = 0): Inline[] {
  if (depth > MAX_DEPTH) return [{ kind: 'text', text }];
  const result: Inline[] = [];
  let at = 0;
  const plain = (piece: string) => {
    const last = result.at(-1);
    if (piece === '') return;
    if (last?.kind === 'text') last.text += piece;
    else result.push({ kind: 'text', text: piece });
  };
  for (const match of text.matchAll(INLINE)) {
    plain(text.slice(at, match.index));
    at = match.index + match[0].length;
    const groups = match.groups ?? {};
    const emphasis = groups['star'] ?? groups['under'];
    if (groups['code'] !== undefined) result.push({ kind: 'code', text: groups['code'].trim() || groups['code'] });
    else if (groups['href'] !== undefined) pushLink(result, plain, groups['href'], parseInline(groups['label'] ?? '', depth + 1), match[0]);
    else if (groups['auto'] !== undefined) result.push({ kind: 'link', href: groups['auto'], children: [{ kind: 'text', text: groups['auto'] }] });
    else if (groups['strong'] !== undefined) result.push({ kind: 'strong', children: parseInline(groups['strong'], depth + 1) });
    else if (groups['strike'] !== undefined) result.push({ kind: 'strike', children: parseInline(groups['strike'], depth + 1) });
    else if (emphasis !== undefined) result.push({ kind: 'emphasis', children: parseInline(emphasis, depth + 1) });
    else plain(groups['escaped'] ?? match[0]);
  }
  plain(text.slice(at));
  return result;
}

/** Only addresses of the web become links: a model must not be able to offer `javascript:` or a local file. */
function pushLink(result: Inline[], plain: (text: string) => void, href: string, children: Inline[], source: string): void {
  if (/^(https?:\/\/|mailto:)/iu.test(href)) result.push({ kind: 'link', href, children });
  else plain(source);
}
