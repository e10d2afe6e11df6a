import { useEffect, useRef, useState } from 'react';
import { isConversation } from '../model/conversations';
import { attentionList, sinceOf, stateOf } from '../model/sessions';
import type { ApprovalItem, SessionItem } from '../protocol/control';
import { shortAge } from '../text/time';
import { useApp, useAppState, useNow } from './context';
import { EmptyState, IconButton } from './controls';
import { Decision, defaultOption } from './Decision';
import { Presented } from './Presented';

/** A decision on a card that has been selected for less than this is not meant for it. */
const UNREAD_MS = 250;

interface CardProps {
  approval: ApprovalItem;
  selected: boolean;
  now: number;
  onSelect(): void;
}

function Card({ approval, selected, now, onSelect }: CardProps) {
  const app = useApp();
  const ref = useRef<HTMLElement>(null);
  const [deciding, setDeciding] = useState(false);
  const mayDecide = app.may('approve');

  useEffect(() => {
    if (!selected) return;
    ref.current?.scrollIntoView({ block: 'nearest' });
    // Without this the daemon denies it after 30 seconds; a person now has it on the screen.
    if (mayDecide && !approval.seen) void app.control.request('approval', { approval: approval.id, ack: true }).catch(() => {});
  }, [app, approval.id, approval.seen, mayDecide, selected]);

  const decide = async (approved: boolean | undefined, option?: string) => {
    setDeciding(true);
    await app.run('approval', { approval: approval.id, approved, option });
    setDeciding(false);
  };
  return (
    <article ref={ref} className="card" data-approval={approval.id} data-selected={selected} aria-label={`${approval.tool} in ${approval.session}`} onFocusCapture={onSelect}>
      <header className="card-header">
        <button type="button" className="link card-session" onClick={() => app.openFromInbox(approval.session)}>
          {approval.session}
        </button>
        <span className="muted">{shortAge(approval.asked_at, now)}</span>
      </header>
      <p className="card-title">{approval.tool}</p>
      <Presented parameters={approval.parameters} reason={approval.reason} />
      {approval.cut ? <p className="muted">Long texts are shortened here.</p> : null}
      {mayDecide ? <Decision options={approval.options ?? []} disabled={deciding} onDecide={(approved, option) => void decide(approved, option)} /> : null}
    </article>
  );
}

/** A session that waits for a person in a way that cannot be answered from here: in its terminal, or by a question. */
function AskingCard({ session, now }: { session: SessionItem; now: number }) {
  const app = useApp();
  const preview = useAppState((state) => state.previews.get(session.name) ?? '');
  const failed = stateOf(session) === 'error';
  const conversation = isConversation(session);
  return (
    <article className="card" data-selected="false" aria-label={`${session.name} ${failed ? 'reports an error' : 'asks'}`}>
      <header className="card-header">
        <span className="card-session">{session.name}</span>
        <span className="muted">{shortAge(sinceOf(session), now)}</span>
      </header>
      <p className="card-title">{failed ? 'Reports an error' : conversation ? 'Asks a question' : 'Asks in its terminal'}</p>
      {preview || conversation ? <p className="muted">{preview || session.title}</p> : null}
      <div className="card-actions">
        <button type="button" className="button" onClick={() => app.openFromInbox(session.name)}>
          {conversation ? 'Open the conversation' : 'Open the terminal'}
        </button>
      </div>
    </article>
  );
}

/** How long a session may take to notice that its question was answered. */
const SETTLE_MS = 3000;

/** The sessions whose approvals were decided a moment ago: they still report that they ask, and must not seem to. */
function useDecided(approvals: readonly ApprovalItem[]): ReadonlySet<string> {
  const [decided, setDecided] = useState<ReadonlySet<string>>(new Set());
  const before = useRef<readonly string[]>([]);
  const names = approvals.map((approval) => approval.session);
  // Compared while rendering: in an effect it would be a frame too late.
  const gone = before.current.filter((name) => !names.includes(name));
  useEffect(() => {
    before.current = names;
    if (gone.length === 0) return;
    setDecided((set) => new Set([...set, ...gone]));
    setTimeout(() => setDecided((set) => new Set([...set].filter((name) => !gone.includes(name)))), SETTLE_MS);
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [names.join(' ')]);
  return new Set([...decided, ...gone]);
}

/** Everything that waits for a decision, over all sessions, the oldest first. */
export function Inbox() {
  const app = useApp();
  const approvals = useAppState((state) => state.approvals);
  const [chosen, setChosen] = useState('');
  const ref = useRef<HTMLElement>(null);
  const now = useNow(5000);
  const at = Math.max(0, approvals.findIndex((approval) => approval.id === chosen));
  const current = approvals[at];
  useEffect(() => void ref.current?.focus(), []);
  const shownAt = useRef<number | null>(null);
  useEffect(() => {
    // The card that is there when the inbox opens has not moved under anyone's hand.
    shownAt.current = shownAt.current === null ? -Infinity : performance.now();
  }, [current?.id]);
  const sessions = useAppState((state) => state.sessions);
  const decided = useDecided(approvals);
  const asking = attentionList(sessions ?? []).filter((session) => !decided.has(session.name) && !approvals.some((approval) => approval.session === session.name));

  const decide = (approved: boolean) => {
    if (!current || !app.may('approve')) return;
    // The list may move while a key is on its way: what has only just appeared was not what the person read.
    if (performance.now() - (shownAt.current ?? 0) < UNREAD_MS) return;
    const option = defaultOption(current.options ?? [], approved);
    setChosen(approvals[at + 1]?.id ?? '');
    void app.run('approval', { approval: current.id, approved, option: option?.id });
  };

  return (
    <aside
      ref={ref}
      className="inbox"
      tabIndex={-1}
      aria-label="Approvals"
      onKeyDown={(event) => {
        if (event.ctrlKey || event.altKey || event.metaKey) return;
        if (event.key === 'y') decide(true);
        else if (event.key === 'n') decide(false);
        else if (event.key === 'ArrowDown' || event.key === 'j') setChosen(approvals[at + 1]?.id ?? chosen);
        else if (event.key === 'ArrowUp' || event.key === 'k') setChosen(approvals[at - 1]?.id ?? chosen);
        else if (event.key === 'Escape') app.setInbox(false);
        else return;
        event.preventDefault();
      }}
    >
      <header className="inbox-header">
        <h2>Approvals</h2>
        <IconButton icon="close" label="Close approvals" onClick={() => app.setInbox(false)} />
      </header>
      <div className="inbox-list">
        {approvals.length === 0 && asking.length === 0 ? (
          <EmptyState title="Nothing to decide">
            <p>When an agent asks for a permission, it appears here.</p>
          </EmptyState>
        ) : null}
        {approvals.map((approval) => (
          <Card key={approval.id} approval={approval} selected={approval.id === current?.id} now={now} onSelect={() => setChosen(approval.id)} />
        ))}
        {asking.map((session) => (
          <AskingCard key={session.name} session={session} now={now} />
        ))}
      </div>
    </aside>
  );
}
