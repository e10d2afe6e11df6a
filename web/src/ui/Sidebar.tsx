import type { KeyboardEvent } from 'react';
import { actionById, runAction } from '../actions/actions';
import { describeRole } from '../model/roles';
import { attentionList, endedList, groupByWorkspace, sinceOf, STATE_LABELS, stateOf } from '../model/sessions';
import type { SessionItem } from '../protocol/control';
import { shortAge } from '../text/time';
import { useApp, useAppState, useNow } from './context';
import { EmptyState, IconButton } from './controls';
import { Icon } from './Icon';
import { StateDot } from './StateDot';

function clientCount(session: SessionItem): number {
  return session.clients ?? session.web_clients + session.local_clients;
}

function SessionRow({ session, now }: { session: SessionItem; now: number }) {
  const app = useApp();
  const current = useAppState((state) => app.focusedLeaf()?.session === session.name && state.layout.root !== null);
  const preview = useAppState((state) => state.previews.get(session.name) ?? '');
  const asked = useAppState((state) => state.approvals.find((approval) => approval.session === session.name)?.reason ?? '');
  const state = stateOf(session);
  const age = shortAge(sinceOf(session), now);
  const clients = clientCount(session);
  return (
    <button type="button" className="session-row" data-session-row data-state={state} aria-current={current} onClick={(event) => (event.ctrlKey || event.metaKey ? app.openBeside(session.name) : app.open(session.name))}>
      <StateDot state={state} />
      <span className="session-name">{session.name}</span>
      <span className="session-meta" title={`${STATE_LABELS[state]} for ${age}`}>
        {clients > 0 ? (
          <span className="session-clients" title={`${clients} attached`}>
            <Icon name="people" />
            {clients}
          </span>
        ) : null}
        <span>{age}</span>
      </span>
      <span className="session-preview">{asked || session.title || preview || STATE_LABELS[state]}</span>
    </button>
  );
}

/** Arrow keys move between rows, as in any list. */
function moveFocus(event: KeyboardEvent<HTMLElement>): void {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step === undefined || event.ctrlKey) return;
  const rows = [...event.currentTarget.querySelectorAll<HTMLElement>('[data-session-row]')];
  const at = rows.indexOf(document.activeElement as HTMLElement);
  rows[(at + step + rows.length) % rows.length]?.focus();
  event.preventDefault();
}

function Skeleton() {
  return (
    <div aria-hidden="true">
      {[0, 1, 2].map((i) => (
        <div key={i} className="session-row skeleton" />
      ))}
    </div>
  );
}

function SessionList() {
  const sessions = useAppState((state) => state.sessions);
  const now = useNow(5000);
  if (!sessions) return <Skeleton />;
  if (sessions.length === 0) {
    return (
      <EmptyState title="No sessions">
        <p>A session keeps an agent's terminal alive, whether or not this page is open.</p>
      </EmptyState>
    );
  }
  const waiting = attentionList(sessions);
  const ended = endedList(sessions);
  return (
    <>
      {waiting.length > 0 ? (
        <section aria-label="Waiting for you">
          <h2 className="group-title group-attention">Waiting for you</h2>
          {waiting.map((session) => (
            <SessionRow key={session.name} session={session} now={now} />
          ))}
        </section>
      ) : null}
      {groupByWorkspace(sessions).map((group) => (
        <section key={group.path} aria-label={group.path}>
          <h2 className="group-title" title={group.path}>
            {group.label}
          </h2>
          {group.sessions.map((session) => (
            <SessionRow key={session.name} session={session} now={now} />
          ))}
        </section>
      ))}
      {ended.length > 0 ? (
        <section aria-label="Ended">
          <h2 className="group-title">Ended</h2>
          {ended.map((session) => (
            <SessionRow key={session.name} session={session} now={now} />
          ))}
        </section>
      ) : null}
    </>
  );
}

export function Sidebar() {
  const app = useApp();
  const me = useAppState((state) => state.me);
  const approvals = useAppState((state) => state.approvals.length);
  const notifications = useAppState((state) => state.notifications);
  const phone = useAppState((state) => state.phone);
  const scope = me?.session ?? me?.workspace;
  return (
    <nav className="sidebar" aria-label="Sessions">
      <header className="sidebar-header">
        <div className="machine">
          <span className="machine-name">{me?.machine ?? 'Switchboard'}</span>
          {me && me.role !== 'owner' ? <span className="role" title={describeRole(me.role) + (scope ? ` Only ${scope}.` : '')}>{me.role}</span> : null}
        </div>
        <IconButton icon="search" label="Command palette (Ctrl+K)" onClick={() => app.show({ kind: 'palette' })} />
        {app.may('drive') ? <IconButton icon="plus" label="New session" onClick={() => runAction(app, actionById('new-session'))} /> : null}
      </header>
      <div className="session-list" onKeyDown={moveFocus}>
        <SessionList />
      </div>
      <footer className="sidebar-footer">
        <button type="button" className="inbox-button" data-waiting={approvals > 0} onClick={() => app.setInbox(true)}>
          <Icon name="inbox" />
          Approvals
          {approvals > 0 ? <span className="badge">{approvals}</span> : null}
        </button>
        <IconButton icon="bell" label={notifications ? 'Switch notifications off' : 'Notify me when a session asks'} pressed={notifications} onClick={() => void app.toggleNotifications()} />
        <IconButton icon="signOut" label="Sign out of this browser" onClick={() => runAction(app, actionById('sign-out'))} />
        {phone ? null : <IconButton icon="keyboard" label="Keyboard shortcuts (?)" onClick={() => app.show({ kind: 'help' })} />}
      </footer>
    </nav>
  );
}
