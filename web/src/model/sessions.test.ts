import { describe, expect, it } from 'vitest';
import type { AgentState, SessionItem } from '../protocol/control';
import { newlyWaiting } from './attention';
import { applyEvent, attentionList, endedList, groupByWorkspace, lastLine, listOrder, newestByName, shortLabels, stateOf, withNewerStates } from './sessions';

function session(name: string, workspace: string, state: AgentState, since = 1): SessionItem {
  return { name, workspace, pid: 1, created: 0, ptys: [], web_clients: 0, local_clients: 0, agent: { state, since } };
}

const SESSIONS = [session('web', '/src/shop', 'working'), session('api', '/src/shop', 'ready'), session('docs', '/src/docs', 'asking', 9), session('late', '/src/docs', 'asking', 5)];

describe('sessions', () => {
  it('lists those that wait first, the longest waiting at the top', () => {
    expect(attentionList(SESSIONS).map((item) => item.name)).toEqual(['late', 'docs']);
  });

  it('groups the others by workspace', () => {
    expect(groupByWorkspace(SESSIONS).map((group) => [group.label, group.sessions.map((item) => item.name)])).toEqual([['shop', ['api', 'web']]]);
  });

  it('keeps ended sessions apart, the newest first', () => {
    const ended = (name: string, since: number): SessionItem => ({ ...session(name, '/src/shop', 'ready', since), status: 'exited' });
    const all = [ended('old', 1), ...SESSIONS, ended('new', 2)];
    expect(endedList(all).map((item) => item.name)).toEqual(['new', 'old']);
    expect(groupByWorkspace(all)).toEqual(groupByWorkspace(SESSIONS));
    expect(listOrder(all).map((item) => item.name)).toEqual(['late', 'docs', 'api', 'web', 'new', 'old']);
  });

  it('keeps a state that an event has reported when an older list arrives behind it', () => {
    const events = [session('web', '/src/shop', 'working', 20_000)];
    const stateIn = (list: SessionItem) => withNewerStates(events, [list])[0]?.agent?.state;
    expect(stateIn(session('web', '/src/shop', 'ready', 19_000))).toBe('working');
    expect(stateIn(session('web', '/src/shop', 'ready', 21_000))).toBe('ready');
    // Another session of this name, and a clock that was set back.
    expect(stateIn({ ...session('web', '/src/shop', 'ready', 19_000), created: 3 })).toBe('ready');
    expect(stateIn(session('web', '/src/shop', 'ready', 1000))).toBe('ready');
  });

  it('does not call a program starting that runs for a while', () => {
    const plain = session('plain', '/src/shop', 'starting', 1000);
    expect([stateOf(plain, 61_000), stateOf(plain, 61_001)]).toEqual(['starting', 'unknown']);
  });

  it('steps through sessions in the order of the list', () => {
    expect(listOrder(SESSIONS).map((item) => item.name)).toEqual(['late', 'docs', 'api', 'web']);
  });

  it('names workspaces by as much of their path as is needed', () => {
    expect([...shortLabels(['/a/shop', '/b/shop', '/c/docs', '/']).values()]).toEqual(['a/shop', 'b/shop', 'docs', '/']);
  });

  it('applies a state at once and marks closed sessions', () => {
    const asking = applyEvent(SESSIONS, { event: 'status', session: 'api', state: 'asking', at: 77, cursor: '1' });
    expect(asking.find((item) => item.name === 'api')?.agent).toMatchObject({ state: 'asking', since: 77 });
    const closed = applyEvent(SESSIONS, { event: 'closed', session: 'api', at: 78, cursor: '2' });
    expect(closed.find((item) => item.name === 'api')?.status).toBe('exited');
  });

  it('keeps the newest of several sessions with one name', () => {
    const item = (created: number, status: 'exited' | 'running') => ({ ...(SESSIONS[0] as SessionItem), name: 'build', created, status });
    expect(newestByName([item(1, 'exited'), item(3, 'exited'), item(2, 'exited')]).map(({ created }) => created)).toEqual([3]);
    expect(newestByName([item(1, 'running'), item(3, 'exited')]).map(({ created }) => created)).toEqual([1]);
  });

  it('reports only sessions that did not wait before', () => {
    const now = applyEvent(SESSIONS, { event: 'status', session: 'web', state: 'asking', at: 1, cursor: '1' });
    expect(newlyWaiting(SESSIONS, now).map((item) => item.name)).toEqual(['web']);
    expect(newlyWaiting(null, now)).toEqual([]);
  });

  it('takes the last line with text, without drawing', () => {
    expect(lastLine('one\n│ > run the tests   │\n╰──────────╯\n   \n')).toBe('> run the tests');
    expect(lastLine('\n\n')).toBe('');
  });

  it('takes the question of a session that asks', () => {
    const dialog = '│ Do you want to proceed?  │\n│ ❯ 1. Yes │\n│   2. No  │\n╰───╯';
    expect(lastLine(dialog, true)).toBe('Do you want to proceed?');
    expect(lastLine(dialog)).toBe('2. No');
    expect(lastLine('Continue [y/n]', true)).toBe('Continue [y/n]');
  });
});
