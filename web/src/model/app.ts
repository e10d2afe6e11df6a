import { ConnectionLost, type ConnectionState, ControlClient } from '../client/control';
import { EarlyTerminal } from '../client/early-terminal';
import { loadLayout, saveLayout } from '../layout/saved';
import * as tree from '../layout/tree';
import type { ControlEvent, ConversationItem, OperationName, Replies, SessionItem } from '../protocol/control';
import type { TerminalScreen } from '../term/screen';
import { sentence } from '../text/words';
import type { Transport } from '../transport/transport';
import { newlyWaiting, notifyAbout, TabIndicator } from './attention';
import { conversationSession, isConversation } from './conversations';
import { Refresher } from './refresh';
import { type Ability, may } from './roles';
import { applyEvent, attentionList, listOrder } from './sessions';
import { FONT_SIZES, loadSettings, saveSettings } from './settings';
import { type AppState, INITIAL_STATE, type Notice, type Overlay } from './state';
import { Store } from './store';

const NOTICE_MS = 6000;
/** How long the page stays empty for the sake of the first list. */
const FIRST_LIST_MS = 300;
export const NARROW = '(max-width: 720px)';
/** The inbox covers what is below it; the same as in `overlays.css`. */
const COVERED = '(max-width: 1279px)';

/**
 * The page's state and everything that changes it. Components read the store and call these methods; nothing else
 * sends requests to the daemon, except for the terminals and conversations, which have connections of their own.
 */
export class App {
  readonly store: Store<AppState>;
  readonly control: ControlClient;
  /** The terminals on the page, by the id of their pane. */
  readonly screens = new Map<number, TerminalScreen>();
  /** Opens the search bar of a pane; registered by the pane. */
  readonly searches = new Map<number, () => void>();
  readonly early: EarlyTerminal;
  private readonly refresher: Refresher;
  private readonly tab = new TabIndicator();
  private nextNotice = 1;

  constructor(readonly transport: Transport) {
    const narrow = matchMedia(NARROW);
    this.store = new Store<AppState>({ ...INITIAL_STATE, ...loadSettings(), phone: narrow.matches });
    narrow.addEventListener('change', () => this.store.set({ phone: narrow.matches }));
    this.early = new EarlyTerminal(transport);
    this.control = new ControlClient(
      transport,
      (state) => void this.connectionChanged(state),
      (event) => this.eventReceived(event),
    );
    this.refresher = new Refresher(this.control, this.store, (before, now) => this.sessionsChanged(before, now));
    this.store.subscribe(() => this.showAttention());
  }

  /** Resolves once it is known what to show, or after a while: a daemon that does not answer is shown as well. */
  known(): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        unsubscribe();
        resolve();
      };
      const unsubscribe = this.store.subscribe(() => {
        const { sessions, layout, connection, me } = this.store.get();
        if (sessions || (me && layout.root) || (connection !== 'connecting' && connection !== 'open')) done();
      });
      setTimeout(done, FIRST_LIST_MS);
    });
  }

  may(ability: Ability): boolean {
    return may(this.store.get().me?.role, ability);
  }

  /** Executes an operation; a failure is shown to the user, and the result is null. */
  async run<Name extends OperationName>(cmd: Name, fields: object = {}): Promise<Replies[Name] | null> {
    try {
      return await this.control.request(cmd, fields);
    } catch (error) {
      this.notify(error instanceof Error ? error.message : String(error), 'error');
      return null;
    } finally {
      this.refresher.soon();
    }
  }

  /** Fetches the lists soon, for a change that no event reports. */
  refresh(): void {
    this.refresher.soon();
  }

  notify(text: string, kind: Notice['kind'] = 'info'): void {
    const message = sentence(text);
    if (this.store.get().notices.some((notice) => notice.text === message)) return;
    const id = this.nextNotice++;
    this.store.set((state) => ({ notices: [...state.notices.slice(-3), { id, kind, text: message }] }));
    setTimeout(() => this.dismiss(id), NOTICE_MS);
  }

  dismiss(id: number): void {
    this.store.set((state) => ({ notices: state.notices.filter((notice) => notice.id !== id) }));
  }

  // Layout

  setLayout(change: (layout: tree.Layout) => tree.Layout): void {
    const { layout, me } = this.store.get();
    const changed = change(layout);
    if (changed === layout) return;
    this.store.set({ layout: changed });
    if (me) saveLayout(this.transport.machine ?? me.machine, changed);
  }

  open(session: string, tab?: tree.Tab): void {
    const shown = tab ?? (this.isConversation(session) ? tree.CHAT_TAB : tree.AGENT_TAB);
    this.setLayout((layout) => tree.showSession(layout, session, shown));
    this.store.set({ drawer: false });
    this.focusTerminal();
  }

  /** Shows a session in a new pane beside the focused one. */
  openBeside(session: string): void {
    const leaf = this.focusedLeaf();
    if (!leaf || this.store.get().phone) return this.open(session);
    this.setLayout((layout) => tree.splitLeaf(layout, leaf.id, 'row', session, this.isConversation(session) ? tree.CHAT_TAB : tree.AGENT_TAB));
    this.focusTerminal();
  }

  /** Shows a session that was just created, before the next list has it. */
  openCreated(session: SessionItem): void {
    this.refresher.expect(session);
    this.open(session.name);
  }

  /** Opens a conversation that is too old for the list; it is listed while it is open. */
  openConversation(item: ConversationItem): void {
    this.store.set(({ sessions }) => ({ sessions: [...(sessions ?? []).filter(({ name }) => name !== item.session), conversationSession(item)] }));
    this.open(item.session);
  }

  session(name: string | undefined): SessionItem | undefined {
    return this.store.get().sessions?.find((item) => item.name === name);
  }

  isConversation(name: string): boolean {
    const session = this.session(name);
    return session !== undefined && isConversation(session);
  }

  /** Moves the keyboard to the focused pane, once it is on the page. */
  focusTerminal(): void {
    if (this.store.get().phone) return;
    requestAnimationFrame(() => {
      const leaf = tree.focusedLeaf(this.store.get().layout);
      if (leaf) this.screens.get(leaf.id)?.focus();
    });
  }

  focusedLeaf(): tree.Leaf | null {
    return tree.focusedLeaf(this.store.get().layout);
  }

  focusedScreen(): TerminalScreen | null {
    const leaf = this.focusedLeaf();
    return (leaf && this.screens.get(leaf.id)) ?? null;
  }

  split(direction: tree.Split['direction']): void {
    const leaf = this.focusedLeaf();
    if (!leaf) return;
    this.setLayout((layout) => tree.splitLeaf(layout, leaf.id, direction, leaf.session, leaf.tab));
    this.focusTerminal();
  }

  closePane(id: number | undefined = this.focusedLeaf()?.id): void {
    if (id === undefined) return;
    this.setLayout((layout) => tree.closeLeaf(layout, id));
    this.focusTerminal();
  }

  /** Shows the session `step` places further in the list. */
  stepSession(step: number): void {
    const order = listOrder(this.store.get().sessions ?? []);
    const at = order.findIndex((session) => session.name === this.focusedLeaf()?.session);
    const next = order[(at + step + order.length) % order.length];
    if (next) this.open(next.name);
  }

  openNextWaiting(): void {
    const waiting = attentionList(this.store.get().sessions ?? []);
    const at = waiting.findIndex((session) => session.name === this.focusedLeaf()?.session);
    const next = waiting[(at + 1) % waiting.length];
    if (next) this.open(next.name);
    else this.notify('No session is waiting for you');
  }

  // Overlays

  show(overlay: Overlay | null): void {
    this.store.set({ overlay, ...(overlay ? { drawer: false } : {}) });
    if (!overlay) this.focusTerminal();
  }

  /** Shows a session from the inbox, which covers it in a small window and stays beside it elsewhere. */
  openFromInbox(session: string): void {
    if (matchMedia(COVERED).matches) this.store.set({ inbox: false });
    this.open(session);
  }

  setInbox(inbox: boolean): void {
    this.store.set({ inbox, drawer: false });
    if (!inbox) this.focusTerminal();
  }

  // Settings

  toggleSidebar(): void {
    this.store.set((state) => (state.phone ? { drawer: !state.drawer } : { sidebar: !state.sidebar }));
    this.saveSettings();
  }

  changeFontSize(step: number): void {
    const wanted = step === 0 ? FONT_SIZES.standard : this.store.get().fontSize + step;
    this.store.set({ fontSize: Math.min(FONT_SIZES.max, Math.max(FONT_SIZES.min, wanted)) });
    this.saveSettings();
  }

  async toggleNotifications(): Promise<void> {
    if (this.store.get().notifications) this.store.set({ notifications: false });
    else if (!('Notification' in window)) this.notify('This browser has no notifications on this address', 'error');
    else if ((await Notification.requestPermission()) === 'granted') this.store.set({ notifications: true });
    else this.notify('The browser does not allow notifications from this page', 'error');
    this.saveSettings();
  }

  /** Whether terminals of a session are attached without input. */
  watches(session: string): boolean {
    const { phone, watching } = this.store.get();
    // A phone watches unless its user decides otherwise: typing there would give the PTY the phone's size.
    return !this.may('drive') || (phone ? watching.get(session) !== true : watching.get(session) === true);
  }

  toggleWatching(session: string): void {
    this.store.set(({ watching }) => ({ watching: new Map(watching).set(session, !watching.get(session)) }));
  }

  /** Forgets the token of this browser and shows the page that asks for one. */
  async signOut(): Promise<void> {
    if (await this.transport.signOut?.()) location.replace('/');
    else this.notify('The browser could not be signed out', 'error');
  }

  private saveSettings(): void {
    const { notifications, sidebar, fontSize } = this.store.get();
    saveSettings({ notifications, sidebar, fontSize });
  }

  // Events

  private async connectionChanged(connection: ConnectionState): Promise<void> {
    this.store.set({ connection });
    if (connection !== 'open') {
      this.refresher.stop();
      return;
    }
    try {
      const greeted = this.greet();
      void this.refresher.run(greeted);
      await greeted;
      const [{ agents }, { workspaces }] = await Promise.all([this.control.request('agents'), this.control.request('workspaces')]);
      this.store.set({ agents, workspaces });
    } catch (error) {
      if (!(error instanceof ConnectionLost)) this.notify(error instanceof Error ? error.message : String(error), 'error');
    }
  }

  /** Finds out who we are, and on which machine: its layout is shown before the lists arrive. */
  private async greet(): Promise<void> {
    const me = await this.control.request('whoami');
    const known = this.store.get().me;
    this.store.set({ me, wasConnected: true, ...(known?.machine === me.machine ? {} : { layout: loadLayout(this.transport.machine ?? me.machine) }) });
    if (!known) this.attachEarly();
  }

  /** Attaches to the terminal in focus before anything can draw it. */
  private attachEarly(): void {
    const leaf = this.focusedLeaf();
    if (leaf?.tab.kind === 'terminal' && this.screens.size === 0) this.early.attach(leaf.session, leaf.tab.pty, this.watches(leaf.session));
  }

  private eventReceived(event: ControlEvent): void {
    const { sessions } = this.store.get();
    if (sessions && event.session !== undefined) {
      const now = applyEvent(sessions, event);
      this.store.set({ sessions: now });
      this.sessionsChanged(sessions, now);
    }
    this.refresher.soon();
  }

  private sessionsChanged(before: SessionItem[] | null, now: SessionItem[]): void {
    this.notifyAboutNew(before, now);
    const ptys = new Map(now.map((session) => [session.name, session.ptys.map((pty) => pty.id)]));
    this.setLayout((layout) => tree.withoutMissing(layout, (session) => ptys.get(session) ?? null));
    // A page that is opened for the first time shows what matters most instead of nothing.
    const first = listOrder(now)[0];
    // Its user may have opened the drawer already; that stays open.
    if (!before && first && !this.store.get().layout.root) {
      this.setLayout((layout) => tree.showSession(layout, first.name, isConversation(first) ? tree.CHAT_TAB : tree.AGENT_TAB));
      this.attachEarly();
      this.focusTerminal();
    }
  }

  private notifyAboutNew(before: SessionItem[] | null, now: SessionItem[]): void {
    if (!this.store.get().notifications || document.visibilityState === 'visible') return;
    for (const session of newlyWaiting(before, now)) notifyAbout(session, () => this.open(session.name));
  }

  private showAttention(): void {
    const { sessions, approvals, me } = this.store.get();
    const waiting = new Set(attentionList(sessions ?? []).map((session) => session.name));
    for (const approval of approvals) waiting.add(approval.session);
    this.tab.update(waiting.size, me ? `${me.machine} · Switchboard` : 'Switchboard');
  }
}
