import { describe, expect, it } from 'vitest';
import type { ApprovalItem, ConversationItem, SessionItem } from '../protocol/control';
import { isConversation, withConversations } from './conversations';

const DAY = 24 * 3600 * 1000;
const terminal: SessionItem = { name: 'api', workspace: '/w/api', pid: 7, created: 1, ptys: [{ id: 0, role: 'agent', command: 'claude' }], web_clients: 0, local_clients: 0 };

function conversation(session: string, change: Partial<ConversationItem> = {}): ConversationItem {
  return { session, title: 'a title', workspace: '/w/api', messages: 2, created: 5000, updated: 9000, live: true, saved: false, autosaved: false, running: false, tokens: 0, ...change };
}

describe('withConversations', () => {
  it('lists conversations without a terminal behind the sessions', () => {
    const items = withConversations([terminal], [conversation('api'), conversation('talk', { agent: 'model' })], [], 10_000);
    expect(items.map((item) => item.name)).toEqual(['api', 'talk']);
    expect(items.map(isConversation)).toEqual([false, true]);
    expect(items[1]).toMatchObject({ title: 'a title', created: 5, agent: { state: 'ready', since: 9000, profile: 'model' } });
  });

  it('shows what runs and what waits for a decision', () => {
    const approval = { session: 'b', asked_at: 9500 } as ApprovalItem;
    const items = withConversations([], [conversation('a', { running: true }), conversation('b', { running: true })], [approval], 10_000);
    expect(items.map((item) => item.agent)).toEqual([
      { state: 'working', since: 9000 },
      { state: 'asking', since: 9500 },
    ]);
  });

  it('shows a question as waiting, which is in no list of approvals', () => {
    const items = withConversations([], [conversation('a', { running: true, asking_since: 9700 })], [], 10_000);
    expect(items[0]?.agent).toEqual({ state: 'asking', since: 9700 });
  });

  it('leaves out old conversations that are only saved', () => {
    const saved = [conversation('old', { live: false }), conversation('new', { live: false, updated: 3 * DAY })];
    expect(withConversations([], saved, [], 3 * DAY + 1).map((item) => item.name)).toEqual(['new']);
    expect(withConversations([], saved, [], 3 * DAY + 1, (name) => name === 'old').map((item) => item.name)).toEqual(['old', 'new']);
  });
});
