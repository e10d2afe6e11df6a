import type { ControlClient } from '../client/control';
import { leaves } from '../layout/tree';
import { type ConversationItem, isTooLarge, type OperationName, type Replies, type SessionItem } from '../protocol/control';
import { base64Text } from '../text/bytes';
import { withConversations } from './conversations';
import { lastLine, newestByName, sameSessions, stateOf, withNewerStates } from './sessions';
import type { AppState } from './state';
import type { Store } from './store';

/** Lists also hold what no event reports: clients, sizes, offsets. */
const LIST_EVERY_MS = 4000;
/** Several events usually come together. */
const AFTER_EVENT_MS = 120;
/** A created session that is in no list after this time has been removed again. */
const EXPECTED_MS = 5000;
/** Conversations fetched: those of the list, and as many older ones as the palette can offer. */
const CONVERSATIONS = 50;
/** Screens fetched at a time, so that a long list of sessions never fills the connection. */
const PREVIEWS_AT_ONCE = 4;

/** A preview is current while neither the output nor the state has changed. */
function previewKey(session: SessionItem): string {
  return `${session.offset ?? 0} ${stateOf(session)}`;
}

/**
 * Keeps sessions, approvals and previews current while the page is visible: a list after events and every few seconds,
 * a screen only for sessions whose output has moved since the last one.
 */
export class Refresher {
  private timer: ReturnType<typeof setTimeout> | undefined;
  private running = false;
  private again = false;
  private readonly expected = new Map<string, SessionItem>();
  private readonly previewed = new Map<string, string>();

  constructor(
    private readonly control: ControlClient,
    private readonly store: Store<AppState>,
    private readonly onSessions: (before: SessionItem[] | null, now: SessionItem[]) => void,
  ) {
    document.addEventListener('visibilitychange', () => this.soon(0));
  }

  soon(delay: number = AFTER_EVENT_MS): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.run(), delay);
  }

  stop(): void {
    clearTimeout(this.timer);
    this.previewed.clear();
  }

  /** Keeps a session in the list that was just created: a list that is under way does not have it yet. */
  expect(session: SessionItem): void {
    this.expected.set(session.name, session);
    setTimeout(() => this.expected.delete(session.name), EXPECTED_MS);
    this.store.set(({ sessions }) => ({ sessions: [...(sessions ?? []), session] }));
    this.soon();
  }

  /** Fetches everything now; what arrives is shown once `ready` is. */
  async run(ready: Promise<void> = Promise.resolve()): Promise<void> {
    if (this.running) {
      this.again = true;
      return;
    }
    this.running = true;
    try {
      const [list, waiting, history] = await Promise.all([
        this.fitting('ls', [{ details: true, all: true }, { details: true }, {}]),
        // Their sessions are shown as asking, though not what they ask.
        this.fitting('approvals', [{}]).catch((error: unknown) => (isTooLarge(error) ? { approvals: [] } : Promise.reject(error))),
        this.fitting('history', [{ limit: CONVERSATIONS }, { limit: CONVERSATIONS / 5 }]),
        ready,
      ]);
      const { approvals } = this.store.get();
      if (JSON.stringify(approvals) !== JSON.stringify(waiting.approvals)) this.store.set({ approvals: waiting.approvals });
      const shown = new Set(leaves(this.store.get().layout.root).map((leaf) => leaf.session));
      const sessions = withConversations(newestByName(list.sessions), history.conversations, waiting.approvals, Date.now(), (name) => shown.has(name));
      this.accept(sessions, history.conversations);
      if (document.visibilityState === 'visible') await this.previews(sessions);
    } catch {
      // The connection was lost; its return starts the next run.
    } finally {
      this.running = false;
    }
    if (this.store.get().connection !== 'open') return;
    this.soon(this.again ? AFTER_EVENT_MS : LIST_EVERY_MS);
    this.again = false;
  }

  /** Requests what fits into a message of the transport: a tunnel has shorter ones, and each set of fields gets less. */
  private async fitting<Name extends OperationName>(cmd: Name, [fields, ...less]: object[]): Promise<Replies[Name]> {
    try {
      return await this.control.request(cmd, fields);
    } catch (error) {
      if (less.length === 0 || !isTooLarge(error)) throw error;
      return this.fitting(cmd, less);
    }
  }

  private accept(list: SessionItem[], conversations: ConversationItem[]): void {
    for (const { name } of list) this.expected.delete(name);
    const before = this.store.get().sessions;
    const sessions = [...withNewerStates(before ?? [], list), ...this.expected.values()];
    if (before && sameSessions(before, sessions)) return;
    this.store.set({ sessions, conversations });
    this.onSessions(before, sessions);
  }

  private async previews(sessions: readonly SessionItem[]): Promise<void> {
    const moved = sessions.filter((session) => session.ptys.length > 0 && this.previewed.get(session.name) !== previewKey(session));
    for (let at = 0; at < moved.length; at += PREVIEWS_AT_ONCE) {
      const lines = await Promise.all(moved.slice(at, at + PREVIEWS_AT_ONCE).map((session) => this.preview(session)));
      const changed = lines.filter(([name, line]) => this.store.get().previews.get(name) !== line);
      if (changed.length > 0) this.store.set((state) => ({ previews: new Map([...state.previews, ...changed]) }));
    }
  }

  private async preview(session: SessionItem): Promise<[string, string]> {
    try {
      const screen = await this.control.request('screen', { session: session.name, format: 'text', join: true });
      this.previewed.set(session.name, previewKey(session));
      return [session.name, lastLine(base64Text(screen.data ?? ''), stateOf(session) === 'asking')];
    } catch {
      return [session.name, ''];
    }
  }
}
