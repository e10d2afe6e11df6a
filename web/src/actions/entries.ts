import type { App } from '../model/app';
import { listOrder, STATE_LABELS, stateOf } from '../model/sessions';
import type { AgentState, SessionItem } from '../protocol/control';
import { ACTIONS, titleOf } from './actions';
import { score } from './fuzzy';

/** A line of the palette. */
export interface Entry {
  id: string;
  group: string;
  title: string;
  /** Further text, also searched: where a session is, what a conversation is about. */
  detail?: string;
  state?: AgentState;
  keys?: string;
  /** Shown only when it is searched for. */
  onlySearched?: boolean;
  run(app: App): void;
}

const GROUPS: Record<string, string> = { Navigate: 'Navigate', Session: 'This session', Pane: 'This pane', Terminal: 'This terminal', View: 'View', Help: 'Help' };

function sessionEntries(session: SessionItem): Entry[] {
  const shells = session.ptys.filter((pty) => pty.role === 'shell');
  return [
    {
      id: `session:${session.name}`,
      group: 'Sessions',
      title: session.name,
      detail: session.workspace,
      state: stateOf(session),
      run: (app) => app.open(session.name),
    },
    ...shells.map((pty): Entry => ({
      id: `pty:${session.name}:${pty.id}`,
      group: 'Sessions',
      title: `${session.name}: shell ${pty.id}`,
      detail: pty.command,
      run: (app) => app.open(session.name, { kind: 'terminal', pty: pty.id }),
    })),
  ];
}

/** What the palette offers: every session and its shells, all available actions, and older conversations. */
export function paletteEntries(app: App): Entry[] {
  const { sessions, conversations } = app.store.get();
  const listed = new Set((sessions ?? []).map((session) => session.name));
  const actions = ACTIONS.filter((action) => action.id !== 'palette' && (action.available?.(app) ?? true)).map((action): Entry => ({
    id: action.id,
    group: GROUPS[action.group] ?? action.group,
    title: titleOf(app, action),
    run: action.run,
    ...(action.keys ? { keys: action.keys } : {}),
  }));
  const older = conversations
    .filter((item) => !listed.has(item.session))
    .map((item): Entry => ({ id: `conversation:${item.session}`, group: 'Conversations', title: item.title || item.session, detail: item.workspace, onlySearched: true, run: () => app.openConversation(item) }));
  return [...listOrder(sessions ?? []).flatMap(sessionEntries), ...actions, ...older];
}

/** The entries that match, the best first; without a query all, in their order. */
export function searchEntries(entries: readonly Entry[], query: string, limit: number): Entry[] {
  if (query.trim() === '') return entries.filter((entry) => !entry.onlySearched);
  return entries
    .flatMap((entry) => {
      const state = entry.state ? STATE_LABELS[entry.state] : '';
      // A match in the title is worth more than the same one in what stands beside it.
      const inTitle = score(query, entry.title);
      const anywhere = score(query, `${entry.title} ${state} ${entry.detail ?? ''}`);
      const best = Math.max(inTitle === null ? -Infinity : inTitle + 4, anywhere ?? -Infinity);
      return best === -Infinity ? [] : [{ entry, best }];
    })
    .sort((a, b) => b.best - a.best)
    .slice(0, limit)
    .map(({ entry }) => entry);
}
