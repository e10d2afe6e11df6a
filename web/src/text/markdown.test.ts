import { describe, expect, it } from 'vitest';
import { parseInline, parseMarkdown } from './markdown';

const text = (value: string) => ({ kind: 'text', text: value });

describe('parseMarkdown', () => {
  it('reads headings, paragraphs, lists and rules', () => {
    expect(parseMarkdown('# Title\n\nOne\ntwo\n\n- a\n- b\n\n---').map((block) => block.kind)).toEqual(['heading', 'paragraph', 'list', 'rule']);
  });

  it('keeps code as it is', () => {
    expect(parseMarkdown('```rust\nlet a = *b; // <b>\n```')).toEqual([{ kind: 'code', language: 'rust', text: 'let a = *b; // <b>' }]);
  });

  it('reads a fence that is not closed yet', () => {
    expect(parseMarkdown('text\n```\nhalf')).toMatchObject([{ kind: 'paragraph' }, { kind: 'code', text: 'half' }]);
  });

  it('nests lists by their indentation', () => {
    expect(parseMarkdown('1. one\n   - inner\n2. two')).toMatchObject([{ kind: 'list', ordered: true, items: [[{ kind: 'paragraph' }, { kind: 'list', ordered: false }], [{ kind: 'paragraph' }]] }]);
  });

  it('reads tables', () => {
    expect(parseMarkdown('| a | b |\n|---|---|\n| 1 | 2 |')).toMatchObject([{ kind: 'table', head: [[text('a')], [text('b')]], rows: [[[text('1')], [text('2')]]] }]);
  });

  it('leaves HTML as text', () => {
    expect(parseMarkdown('<img src=x onerror=alert(1)>')).toEqual([{ kind: 'paragraph', children: [text('<img src=x onerror=alert(1)>')] }]);
  });

  it('ends for a text without end', () => {
    expect(parseMarkdown(`${'> '.repeat(5000)}x`)).toHaveLength(1);
    expect(parseMarkdown(`${'- '.repeat(5000)}x`)).toHaveLength(1);
  });
});

describe('parseInline', () => {
  it('reads emphasis, code and links', () => {
    expect(parseInline('a **b** `c*d*` [e](https://f.g/h)')).toEqual([
      text('a '),
      { kind: 'strong', children: [text('b')] },
      text(' '),
      { kind: 'code', text: 'c*d*' },
      text(' '),
      { kind: 'link', href: 'https://f.g/h', children: [text('e')] },
    ]);
  });

  it('links addresses without their punctuation', () => {
    expect(parseInline('see https://a.b/c.')).toEqual([text('see '), { kind: 'link', href: 'https://a.b/c', children: [text('https://a.b/c')] }, text('.')]);
  });

  it.each(['javascript:alert(1)', 'data:text/html,x', 'file:///etc/passwd', 'vbscript:x'])('does not link %s', (href) => {
    expect(parseInline(`[x](${href})`).every((node) => node.kind === 'text')).toBe(true);
  });

  it('leaves names with underscores alone', () => {
    expect(parseInline('snake_case_name and 2*3*4')).toEqual([text('snake_case_name and 2*3*4')]);
  });
});
