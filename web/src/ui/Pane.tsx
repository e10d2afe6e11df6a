import { actionById, runAction, titleOf } from '../actions/actions';
import { CHAT_TAB, focusLeaf, type Leaf, sameTab, setTab, type Tab, toggleZoom } from '../layout/tree';
import { isConversation } from '../model/conversations';
import { stateOf } from '../model/sessions';
import type { SessionItem } from '../protocol/control';
import { ChatView } from './ChatView';
import { Composer } from './Composer';
import { useApp, useAppState } from './context';
import { EmptyState, IconButton } from './controls';
import { ErrorBoundary } from './ErrorBoundary';
import { Menu, type MenuItem } from './Menu';
import { StateDot } from './StateDot';
import { TerminalView } from './TerminalView';
import { ask, TurnsView } from './TurnsView';

interface PaneProps {
  leaf: Leaf;
  focused: boolean;
  alone: boolean;
  /** Distinguishes panes of the same session. */
  label: string;
}

function tabsOf(session: SessionItem): { label: string; tab: Tab; closable: boolean }[] {
  if (isConversation(session)) return [{ label: 'Conversation', tab: CHAT_TAB, closable: false }];
  const ptys = [...session.ptys].sort((a, b) => a.id - b.id);
  const agent = { label: 'Agent', tab: { kind: 'terminal', pty: 0 } as Tab, closable: false };
  const shells = ptys.filter((pty) => pty.id !== 0).map((pty) => ({ label: `Shell ${pty.id}`, tab: { kind: 'terminal', pty: pty.id } as Tab, closable: true }));
  const views = [
    { label: 'Turns', tab: { kind: 'turns' } as Tab, closable: false },
    { label: 'Conversation', tab: CHAT_TAB, closable: false },
  ];
  return [agent, ...shells, ...views];
}

function Tabs({ leaf, session }: { leaf: Leaf; session: SessionItem }) {
  const app = useApp();
  const choose = (tab: Tab) => {
    app.setLayout((layout) => setTab(focusLeaf(layout, leaf.id), leaf.id, tab));
    app.focusTerminal();
  };
  return (
    <div className="tabs" role="tablist" aria-label={`Views of ${session.name}`}>
      {tabsOf(session).map(({ label, tab, closable }) => {
        const selected = sameTab(tab, leaf.tab);
        return (
          <button
            key={label}
            type="button"
            role="tab"
            className="tab"
            aria-selected={selected}
            tabIndex={selected ? 0 : -1}
            onClick={() => choose(tab)}
            onKeyDown={(event) => {
              const step = { ArrowRight: 'nextElementSibling', ArrowLeft: 'previousElementSibling' }[event.key] as 'nextElementSibling' | undefined;
              const target = step && event.currentTarget[step];
              if (target instanceof HTMLElement && !event.ctrlKey) {
                target.focus();
                event.preventDefault();
              } else if (event.key === 'Delete' && closable && tab.kind === 'terminal') {
                app.show({ kind: 'kill', session: session.name, pty: tab.pty });
              }
            }}
          >
            {label}
          </button>
        );
      })}
    </div>
  );
}

function paneMenu(app: ReturnType<typeof useApp>, phone: boolean, alone: boolean): MenuItem[] {
  const ids = [...(phone ? [] : ['split-right', 'split-down', ...(alone ? [] : ['zoom', 'close-pane'])]), 'new-shell', 'watch', 'find', 'relay', 'filter', 'restart', 'end-shell', 'kill'];
  return ids
    .map((id) => actionById(id))
    .filter((action) => action.available?.(app) ?? true)
    .map((action) => ({ label: titleOf(app, action), keys: action.keys ?? '', danger: action.id === 'end-shell' || action.id === 'kill', run: () => runAction(app, action) }));
}

export function Pane({ leaf, focused, alone, label }: PaneProps) {
  const app = useApp();
  const session = useAppState((state) => state.sessions?.find((item) => item.name === leaf.session));
  const loading = useAppState((state) => state.sessions === null);
  const phone = useAppState((state) => state.phone);
  const zoomed = useAppState((state) => state.layout.zoomed === leaf.id);
  const focus = () => app.setLayout((layout) => focusLeaf(layout, leaf.id));
  if (!session && !loading) {
    return (
      <section className="pane" aria-label={label}>
        <EmptyState title={`${leaf.session} has ended`} />
      </section>
    );
  }
  return (
    <section className="pane" data-focused={focused && !alone} aria-label={label} onFocusCapture={focus} onPointerDownCapture={focus}>
      <header className="pane-header">
        {phone ? null : (
          <h1 className="pane-title">
            {session ? <StateDot state={stateOf(session)} /> : null}
            <span title={leaf.session}>{leaf.session}</span>
          </h1>
        )}
        {session ? <Tabs leaf={leaf} session={session} /> : <div className="tabs" />}
        {session && !isConversation(session) && session.status !== 'exited' && app.may('drive') ? <IconButton icon="plus" label="New shell" onClick={() => (focus(), runAction(app, actionById('new-shell')))} /> : null}
        <div className="pane-gap" />
        <div className="pane-actions">
          {phone ? null : (
            <span className="pane-wide">
              <IconButton icon="splitRight" label="Split to the right" onClick={() => (focus(), app.split('row'))} />
              <IconButton icon="splitDown" label="Split downwards" onClick={() => (focus(), app.split('column'))} />
              {alone ? null : <IconButton icon="zoom" label={zoomed ? 'Show all panes' : 'Zoom this pane'} pressed={zoomed} onClick={() => app.setLayout((layout) => toggleZoom(layout, leaf.id))} />}
            </span>
          )}
          <Menu label={`Actions for ${leaf.session}`} items={() => (focus(), paneMenu(app, phone, alone))} />
          {alone || phone ? null : <IconButton icon="close" label="Close this pane" onClick={() => app.closePane(leaf.id)} />}
        </div>
      </header>
      <div className="pane-body">
        <ErrorBoundary key={`${leaf.session} ${leaf.tab.kind}`}>
          {leaf.tab.kind === 'terminal' ? <TerminalView key={`${leaf.session}:${leaf.tab.pty}`} leaf={leaf} pty={leaf.tab.pty} session={session} /> : null}
          {leaf.tab.kind === 'turns' ? <TurnsView key={leaf.session} session={leaf.session} /> : null}
          {leaf.tab.kind === 'chat' ? <ChatView key={leaf.session} session={leaf.session} /> : null}
        </ErrorBoundary>
      </div>
      {!phone && session?.status !== 'exited' && leaf.tab.kind === 'terminal' && leaf.tab.pty === 0 && app.may('prompt') && !app.may('drive') ? (
        <div className="pane-prompt">
          <Composer label={`Prompt for ${leaf.session}`} placeholder={`Ask ${leaf.session}`} onSend={(text) => ask(app, leaf.session, text)} />
        </div>
      ) : null}
    </section>
  );
}
