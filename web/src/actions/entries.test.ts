import { describe, expect, it } from 'vitest';
import { type Entry, searchEntries } from './entries';

const entry = (title: string, change: Partial<Entry> = {}): Entry => ({ id: title, group: 'Sessions', title, run: () => {}, ...change });
const titles = (entries: Entry[]) => entries.map(({ title }) => title);

describe('searchEntries', () => {
  it('keeps the order without a query and leaves out what is only searched for', () => {
    expect(titles(searchEntries([entry('b'), entry('old', { onlySearched: true }), entry('a')], ' ', 10))).toEqual(['b', 'a']);
  });

  it('searches directories and states, and prefers titles', () => {
    const entries = [entry('one', { detail: '/work/billing' }), entry('billing'), entry('two', { state: 'asking', detail: '/w' }), entry('old', { onlySearched: true, detail: '/bill' })];
    expect(titles(searchEntries(entries, 'bill', 10)).slice(0, 1)).toEqual(['billing']);
    expect(titles(searchEntries(entries, 'bill', 10))).toHaveLength(3);
    expect(titles(searchEntries(entries, 'asking', 10))).toEqual(['two']);
  });
});
