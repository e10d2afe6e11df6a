import type { ControlClient } from '../client/control';
import type { SessionItem } from '../protocol/control';
import { base64Text } from '../text/bytes';
import { lastLine, sameSessions } from './sessions';
import type { AppState } from './state';
import type { Store } from './store';

/** Lists also hold what no event reports: clients, sizes, offsets. */
const LIST_EVERY_MS = 4000;
/** Several events usually come together. */
const AFTER_EVENT_MS = 120;
/** Screens fetched at a time, so that a long list of sessions never fills the connection. */
const PREVIEWS_AT_ONCE = 4;

/**
 * Keeps sessions, approvals and previews current while the page is visible: a list after events and every few seconds,
 * a screen only for sessions whose output has moved since the last one.
 */
export class Refresher {
  private timer: ReturnType<typeof setTimeout> | undefined;
  private running = false;
  private again = false;
  private readonly previewOffsets = new Map<string, number>();

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
    this.previewOffsets.clear();
  }

  async run(): Promise<void> {
    if (this.running) {
      this.again = true;
      return;
    }
    this.running = true;
    try {
      const [list, waiting] = await Promise.all([
        this.control.request('ls', { details: true, all: true }),
        this.control.request('approvals'),
      ]);
      this.accept(list.sessions);
      const { approvals } = this.store.get();
      if (JSON.stringify(approvals) !== JSON.stringify(waiting.approvals)) this.store.set({ approvals: waiting.approvals });
      if (document.visibilityState === 'visible') await this.previews(list.sessions);
    } catch {
      // The connection was lost; its return starts the next run.
    } finally {
      this.running = false;
    }
    if (this.store.get().connection !== 'open') return;
    this.soon(this.again ? AFTER_EVENT_MS : LIST_EVERY_MS);
    this.again = false;
  }

  private accept(sessions: SessionItem[]): void {
    const before = this.store.get().sessions;
    if (before && sameSessions(before, sessions)) return;
    this.store.set({ sessions });
    this.onSessions(before, sessions);
  }

  private async previews(sessions: readonly SessionItem[]): Promise<void> {
    const moved = sessions.filter((session) => this.previewOffsets.get(session.name) !== (session.offset ?? 0));
    for (let at = 0; at < moved.length; at += PREVIEWS_AT_ONCE) {
      const lines = await Promise.all(moved.slice(at, at + PREVIEWS_AT_ONCE).map((session) => this.preview(session)));
      const changed = lines.filter(([name, line]) => this.store.get().previews.get(name) !== line);
      if (changed.length > 0) this.store.set((state) => ({ previews: new Map([...state.previews, ...changed]) }));
    }
  }

  private async preview(session: SessionItem): Promise<[string, string]> {
    try {
      const screen = await this.control.request('screen', { session: session.name, format: 'text' });
      this.previewOffsets.set(session.name, session.offset ?? 0);
      return [session.name, lastLine(base64Text(screen.data))];
    } catch {
      return [session.name, ''];
    }
  }
}
