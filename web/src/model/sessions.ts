import type { AgentState, ControlEvent, SessionItem } from '../protocol/control';

export interface WorkspaceGroup {
  /** Absolute path, also the key. */
  path: string;
  /** Shortest end of the path that differs from those of the other groups. */
  label: string;
  sessions: SessionItem[];
}

/** A program that has not been ready after so long is one that is not recognised, not one that still starts. */
const STARTING_MS = 60_000;

export function stateOf(session: SessionItem, now: number = Date.now()): AgentState {
  if (session.status === 'exited') return 'exited';
  const state = session.agent?.state ?? (session.status === 'starting' ? 'starting' : 'unknown');
  return state === 'starting' && now - sinceOf(session) > STARTING_MS ? 'unknown' : state;
}

/** Whether the session waits for a person. */
export function needsAttention(session: SessionItem): boolean {
  const state = stateOf(session);
  return state === 'asking' || state === 'error';
}

/** Milliseconds since 1970 at which the session came into its state, or its creation if that is unknown. */
export function sinceOf(session: SessionItem): number {
  return session.agent?.since || session.created * 1000;
}

export const STATE_LABELS: Record<AgentState, string> = {
  starting: 'Starting',
  working: 'Working',
  ready: 'Ready',
  asking: 'Asking',
  error: 'Error',
  exited: 'Exited',
  unknown: 'Running',
};

function byName(a: SessionItem, b: SessionItem): number {
  return a.name.localeCompare(b.name, 'en', { numeric: true });
}

/** Longest waiting first: what asks for something comes before everything else. */
export function attentionList(sessions: readonly SessionItem[]): SessionItem[] {
  return sessions.filter(needsAttention).sort((a, b) => sinceOf(a) - sinceOf(b));
}

/** Sessions that have ended, the newest first: they are kept for their output, and are apart from those that run. */
export function endedList(sessions: readonly SessionItem[]): SessionItem[] {
  return sessions.filter((session) => session.status === 'exited').sort((a, b) => sinceOf(b) - sinceOf(a) || byName(a, b));
}

/** The other sessions by workspace. Groups and sessions are sorted by name, so that nothing moves while one works. */
export function groupByWorkspace(sessions: readonly SessionItem[]): WorkspaceGroup[] {
  const groups = new Map<string, SessionItem[]>();
  for (const session of sessions) {
    if (needsAttention(session) || session.status === 'exited') continue;
    groups.set(session.workspace, [...(groups.get(session.workspace) ?? []), session]);
  }
  const labels = shortLabels([...groups.keys()]);
  return [...groups]
    .map(([path, members]) => ({ path, label: labels.get(path) ?? path, sessions: members.sort(byName) }))
    .sort((a, b) => a.label.localeCompare(b.label, 'en', { numeric: true }));
}

/** All sessions in the order in which the list shows them. */
export function listOrder(sessions: readonly SessionItem[]): SessionItem[] {
  return [...attentionList(sessions), ...groupByWorkspace(sessions).flatMap((group) => group.sessions), ...endedList(sessions)];
}

/** For each path its last component, or as many of the last as distinguish it from the others. */
export function shortLabels(paths: readonly string[]): Map<string, string> {
  const tail = (path: string, count: number) => path.split('/').filter(Boolean).slice(-count).join('/') || '/';
  const labels = new Map<string, string>();
  for (const path of paths) {
    const depth = path.split('/').filter(Boolean).length;
    let count = 1;
    while (count < depth && paths.some((other) => other !== path && tail(other, count) === tail(path, count))) count += 1;
    labels.set(path, tail(path, count));
  }
  return labels;
}

/** One session per name: the daemon also remembers ended ones whose name was used again. */
export function newestByName(sessions: readonly SessionItem[]): SessionItem[] {
  const newest = new Map<string, SessionItem>();
  // Times are in seconds, so that this number is beyond all of them.
  const rank = (session: SessionItem) => (session.status === 'exited' ? 0 : 1e12) + session.created;
  for (const session of sessions) {
    const known = newest.get(session.name);
    if (!known || rank(session) >= rank(known)) newest.set(session.name, session);
  }
  return [...newest.values()];
}

/** Applies an event's new state at once; everything else about the session follows with the next list. */
export function applyEvent(sessions: readonly SessionItem[], event: ControlEvent): SessionItem[] {
  return sessions.flatMap((session) => {
    if (session.name !== event.session) return [session];
    // A command that has ended stays in view with its output; the next list shows whether the session was removed.
    if (event.event === 'closed') return [{ ...session, status: 'exited' as const }];
    if (event.event === 'status' && event.state) {
      const agent = { ...session.agent, state: event.state, since: event.at ?? Date.now() };
      return [{ ...session, agent: event.signal === undefined ? agent : { ...agent, signal: event.signal } }];
    }
    return [session];
  });
}

/** A list may have been made this long before an event that arrived ahead of it. */
const LATE_MS = 5000;

/** A list, with the states of events that are newer than it: the reply to a request may arrive behind them. */
export function withNewerStates(before: readonly SessionItem[], list: readonly SessionItem[]): SessionItem[] {
  const known = new Map(before.map((session) => [session.name, session]));
  return list.map((session) => {
    const { agent, created } = known.get(session.name) ?? {};
    const lead = (agent?.since ?? 0) - (session.agent?.since ?? 0);
    const isNewer = created === session.created && session.status !== 'exited' && lead > 0 && lead < LATE_MS;
    return isNewer && agent ? { ...session, agent } : session;
  });
}

/** Whether a list from the daemon has anything new; equal lists must not cause work. */
export function sameSessions(a: readonly SessionItem[], b: readonly SessionItem[]): boolean {
  return a.length === b.length && JSON.stringify(a) === JSON.stringify(b);
}

/** Lines from the end in which the question of a dialog may be: below it are its answers and key hints. */
const DIALOG_LINES = 12;

/**
 * The last line that has text, for the list: without borders and other drawing that agents put around it. Of a session
 * that asks, it is the question, which is more useful than the last of the possible answers.
 */
export function lastLine(screen: string, asking = false): string {
  const lines = screen
    .split('\n')
    .map((line) => line.replace(/[\u2500-\u259f]+/gu, ' ').replace(/\s+/gu, ' ').trim())
    .filter((line) => /[\p{L}\p{N}]/u.test(line));
  const question = asking ? lines.slice(-DIALOG_LINES).findLast((line) => line.endsWith('?')) : undefined;
  return (question ?? lines.at(-1) ?? '').slice(0, 160);
}
