import { AGENT_TAB, CHAT_TAB, focusNext, toggleZoom } from '../layout/tree';
import type { App } from '../model/app';
import { splitWords } from '../text/words';
import { matches, parseChord } from './chord';

export interface Action {
  id: string;
  title: string;
  /** Replaces the title where the effect depends on what is now. */
  titleNow?(app: App): string;
  group: 'Navigate' | 'Session' | 'Pane' | 'Terminal' | 'View' | 'Help';
  /** Combination as in `parseChord`. */
  keys?: string;
  /** Whether it makes sense now; unavailable actions are neither listed nor executed. */
  available?(app: App): boolean;
  run(app: App): void;
}

const hasPane = (app: App) => app.focusedLeaf() !== null;
const splits = (app: App) => hasPane(app) && !app.store.get().phone;
const hasAgent = (app: App) => {
  const leaf = app.focusedLeaf();
  return leaf !== null && !app.isConversation(leaf.session);
};
const hasEnded = (app: App) => app.session(app.focusedLeaf()?.session)?.status === 'exited';
const shellOf = (app: App) => {
  const tab = app.focusedLeaf()?.tab;
  return tab?.kind === 'terminal' && tab.pty !== 0 ? tab.pty : null;
};
const hasTerminal = (app: App) => app.focusedScreen() !== null;
const drives = (app: App) => app.may('drive');

function withSession(app: App, run: (session: string) => void): void {
  const leaf = app.focusedLeaf();
  if (leaf) run(leaf.session);
}

/** The directory that a new session most likely belongs to. */
function currentWorkspace(app: App): string {
  const { sessions, workspaces, me } = app.store.get();
  const current = sessions?.find((session) => session.name === app.focusedLeaf()?.session);
  return me?.workspace ?? current?.workspace ?? workspaces[0]?.path ?? '';
}

/** Starts a shell beside the agent and shows it. */
async function newShell(app: App, session: string): Promise<void> {
  // Without a command the daemon starts /bin/sh; people expect the shell that they use.
  const own = app.store.get().agents.find((agent) => agent.name === 'shell' && agent.kind === 'pty');
  const argv = splitWords(own?.detail ?? '');
  const reply = await app.run('shell', { session, ...(argv.length > 0 ? { argv } : {}) });
  if (reply?.pty !== undefined) app.open(session, { kind: 'terminal', pty: reply.pty });
}

/** Every action of the page that is not bound to one item. The palette, the shortcuts and the help read this table. */
export const ACTIONS: readonly Action[] = [
  { id: 'palette', title: 'Open the command palette', group: 'Navigate', keys: 'Ctrl+K', run: (app) => app.show({ kind: 'palette' }) },
  { id: 'waiting', title: 'Open the next session that waits for you', group: 'Navigate', keys: 'Ctrl+Shift+Enter', run: (app) => app.openNextWaiting() },
  { id: 'next-session', title: 'Next session', group: 'Navigate', keys: 'Ctrl+Shift+ArrowDown', run: (app) => app.stepSession(1) },
  { id: 'previous-session', title: 'Previous session', group: 'Navigate', keys: 'Ctrl+Shift+ArrowUp', run: (app) => app.stepSession(-1) },
  { id: 'list', title: 'Focus the list of sessions', group: 'Navigate', keys: 'Ctrl+Shift+L', run: focusList },
  { id: 'approvals', title: 'Open approvals', group: 'Navigate', keys: 'Ctrl+Shift+A', run: (app) => app.setInbox(!app.store.get().inbox) },

  { id: 'new-session', title: 'New session…', group: 'Session', keys: 'Ctrl+Shift+S', available: drives, run: (app) => app.show({ kind: 'new-session', workspace: currentWorkspace(app) }) },
  { id: 'new-shell', title: 'New shell in this session', group: 'Session', keys: 'Ctrl+Shift+H', available: (app) => drives(app) && hasAgent(app) && !hasEnded(app), run: (app) => withSession(app, (session) => void newShell(app, session)) },
  { id: 'agent', title: 'Show the agent', group: 'Session', keys: 'Alt+1', available: hasAgent, run: (app) => withSession(app, (session) => app.open(session, AGENT_TAB)) },
  { id: 'turns', title: 'Show turns', group: 'Session', keys: 'Ctrl+Shift+U', available: hasAgent, run: (app) => withSession(app, (session) => app.open(session, { kind: 'turns' })) },
  { id: 'chat', title: 'Show the conversation', group: 'Session', keys: 'Ctrl+Shift+M', available: hasPane, run: (app) => withSession(app, (session) => app.open(session, CHAT_TAB)) },
  { id: 'relay', title: 'Relay the last turn to another session…', group: 'Session', available: (app) => hasAgent(app) && app.may('prompt'), run: (app) => withSession(app, (session) => app.show({ kind: 'relay', from: session })) },
  { id: 'watch', title: 'Switch between watching and typing', titleNow: watchTitle, group: 'Session', available: (app) => hasTerminal(app) && drives(app), run: (app) => withSession(app, (session) => app.toggleWatching(session)) },
  { id: 'filter', title: 'Switch the input filter of this session', group: 'Session', available: (app) => hasAgent(app) && app.may('filter'), run: (app) => withSession(app, (session) => void switchFilter(app, session)) },
  { id: 'restart', title: 'Restart the agent…', group: 'Session', available: (app) => hasAgent(app) && drives(app) && !hasEnded(app), run: (app) => withSession(app, (session) => app.show({ kind: 'restart', session })) },
  { id: 'end-shell', title: 'End this shell…', group: 'Session', available: (app) => drives(app) && shellOf(app) !== null, run: (app) => withSession(app, (session) => app.show({ kind: 'kill', session, pty: shellOf(app) })) },
  { id: 'kill', title: 'Kill this session…', titleNow: (app) => (!hasAgent(app) ? 'Delete this conversation…' : hasEnded(app) ? 'Remove this session…' : 'Kill this session…'), group: 'Session', available: (app) => hasPane(app) && (hasAgent(app) ? drives(app) : app.may('chat')), run: (app) => withSession(app, (session) => app.show({ kind: 'kill', session, pty: null })) },

  { id: 'split-right', title: 'Split to the right', group: 'Pane', keys: 'Ctrl+Shift+E', available: splits, run: (app) => app.split('row') },
  { id: 'split-down', title: 'Split downwards', group: 'Pane', keys: 'Ctrl+Shift+O', available: splits, run: (app) => app.split('column') },
  { id: 'zoom', title: 'Zoom this pane', titleNow: (app) => (app.store.get().layout.zoomed === null ? 'Zoom this pane' : 'Show all panes'), group: 'Pane', keys: 'Ctrl+Shift+X', available: hasPane, run: (app) => app.setLayout((layout) => toggleZoom(layout, app.focusedLeaf()?.id ?? 0)) },
  { id: 'next-pane', title: 'Next pane', group: 'Pane', keys: 'Ctrl+Shift+ArrowRight', available: hasPane, run: (app) => stepPane(app, 1) },
  { id: 'previous-pane', title: 'Previous pane', group: 'Pane', keys: 'Ctrl+Shift+ArrowLeft', available: hasPane, run: (app) => stepPane(app, -1) },
  { id: 'close-pane', title: 'Close this pane', group: 'Pane', keys: 'Ctrl+Shift+Backspace', available: hasPane, run: (app) => app.closePane() },

  { id: 'find', title: 'Find in the terminal', group: 'Terminal', keys: 'Ctrl+Shift+F', available: hasTerminal, run: (app) => app.searches.get(app.focusedLeaf()?.id ?? 0)?.() },
  { id: 'copy', title: 'Copy the selection', group: 'Terminal', keys: 'Ctrl+Shift+C', available: hasTerminal, run: (app) => void copySelection(app) },
  { id: 'paste', title: 'Paste', group: 'Terminal', keys: 'Ctrl+V', available: (app) => hasTerminal(app) && drives(app), run: (app) => void paste(app) },
  { id: 'send-ctrl-k', title: 'Send Ctrl+K to the terminal (also Ctrl+K twice)', group: 'Terminal', available: (app) => hasTerminal(app) && drives(app), run: (app) => app.focusedScreen()?.input(Uint8Array.of(11)) },
  { id: 'top', title: 'Scroll to the beginning', group: 'Terminal', keys: 'Ctrl+Shift+Home', available: hasTerminal, run: (app) => app.focusedScreen()?.terminal.scrollToTop() },
  { id: 'bottom', title: 'Scroll to the end', group: 'Terminal', keys: 'Ctrl+Shift+End', available: hasTerminal, run: (app) => app.focusedScreen()?.terminal.scrollToBottom() },

  { id: 'sidebar', title: 'Show or hide the list of sessions', group: 'View', keys: 'Ctrl+Shift+B', run: (app) => app.toggleSidebar() },
  { id: 'larger', title: 'Larger text in terminals', group: 'View', keys: 'Ctrl+Shift+Plus', run: (app) => app.changeFontSize(1) },
  { id: 'smaller', title: 'Smaller text in terminals', group: 'View', keys: 'Ctrl+Shift+-', run: (app) => app.changeFontSize(-1) },
  { id: 'standard-size', title: 'Standard text size in terminals', group: 'View', run: (app) => app.changeFontSize(0) },
  { id: 'notifications', title: 'Switch notifications on or off', titleNow: (app) => (app.store.get().notifications ? 'Switch notifications off' : 'Notify me when a session asks'), group: 'View', run: (app) => void app.toggleNotifications() },

  { id: 'sign-out', title: 'Sign out of this browser', group: 'Help', run: (app) => void app.signOut() },
  { id: 'help', title: 'Keyboard shortcuts', group: 'Help', keys: '?', available: (app) => !app.store.get().phone, run: (app) => app.show({ kind: 'help' }) },
];

/** A phone sends keys and prompts either way; what changes there is whose size the terminal has. */
function watchTitle(app: App): string {
  const watching = app.focusedScreen()?.watching ?? false;
  if (app.store.get().phone) return watching ? 'Fit the terminal to this screen' : 'Keep the size of the terminal';
  return watching ? 'Type in this terminal' : 'Watch without typing';
}

const CHORDS = ACTIONS.flatMap((action) => (action.keys ? [{ action, chord: parseChord(action.keys) }] : []));
/** The browser and the terminal execute these themselves. */
const NATIVE = new Set(['copy', 'paste']);

/** The action of a key press. In a terminal and in fields, keys without a modifier are text. */
export function actionFor(event: KeyboardEvent, typing: boolean): Action | null {
  const found = CHORDS.find(({ action, chord }) => !NATIVE.has(action.id) && matches(chord, event) && !(typing && !chord.ctrl && !chord.alt));
  return found?.action ?? null;
}

export function runAction(app: App, action: Action): void {
  if (action.available?.(app) ?? true) action.run(app);
}

export function titleOf(app: App, action: Action): string {
  return action.titleNow?.(app) ?? action.title;
}

export function actionById(id: string): Action {
  const action = ACTIONS.find((candidate) => candidate.id === id);
  if (!action) throw new Error(`unknown action ${id}`);
  return action;
}

function focusList(app: App): void {
  app.store.set(app.store.get().phone ? { drawer: true } : { sidebar: true });
  requestAnimationFrame(() => {
    const rows = document.querySelectorAll<HTMLElement>('[data-session-row]');
    const current = [...rows].find((row) => row.getAttribute('aria-current') === 'true');
    (current ?? rows[0])?.focus();
  });
}

function stepPane(app: App, step: number): void {
  app.setLayout((layout) => focusNext(layout, step));
  app.focusTerminal();
}

async function copySelection(app: App): Promise<void> {
  if (await app.focusedScreen()?.copySelection()) app.notify('Copied');
  else app.notify('Nothing is selected in the terminal');
}

async function paste(app: App): Promise<void> {
  try {
    app.focusedScreen()?.paste(await navigator.clipboard.readText());
    app.focusTerminal();
  } catch {
    app.notify('The browser does not let the page read the clipboard; press Ctrl+V in the terminal', 'error');
  }
}

async function switchFilter(app: App, session: string): Promise<void> {
  const now = await app.run('filter', { session });
  const changed = now && (await app.run('filter', { session, on: !now.on }));
  if (changed) app.notify(changed.on ? `The input filter of ${session} is on` : `The input filter of ${session} is off`);
}
