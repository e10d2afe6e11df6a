import { useEffect, useState } from 'react';
import { isConversation } from '../model/conversations';
import { listOrder, STATE_LABELS, stateOf } from '../model/sessions';
import { useApp, useAppState } from './context';
import { Dialog, EmptyState } from './controls';
import { StateDot } from './StateDot';

/** Enough to recognise a turn. */
const SHOWN_CHARACTERS = 2000;

/** The beginning of the turn, so that people see what they relay; empty until it is there. */
function useTurnText(from: string): string {
  const app = useApp();
  const [text, setText] = useState('');
  useEffect(() => {
    let current = true;
    const read = async () => {
      const id = from.includes(':') ? from : (await app.control.request('turns', { session: from, limit: 1 })).turns[0]?.turn_id;
      if (id === undefined) return 'This session has no turns yet.';
      return (await app.control.request('turn', { turn_id: id, length: 0 })).text ?? '';
    };
    read().then(
      (value) => current && setText(value.slice(0, SHOWN_CHARACTERS)),
      (error: unknown) => current && setText(error instanceof Error ? error.message : String(error)),
    );
    return () => {
      current = false;
    };
  }, [app, from]);
  return text;
}

/** Chooses the session that gets a turn; `from` is a turn, or a session for its newest one. */
export function RelayDialog({ from }: { from: string }) {
  const app = useApp();
  const sessions = useAppState((state) => state.sessions);
  const [submit, setSubmit] = useState(false);
  const source = from.includes(':') ? from.slice(0, from.lastIndexOf(':')) : from;
  const targets = listOrder(sessions ?? []).filter((session) => session.name !== source && stateOf(session) !== 'exited' && !isConversation(session));
  const text = useTurnText(from);

  const relay = async (to: string) => {
    const reply = await app.run('relay', { from, to, submit });
    if (!reply) return;
    app.show(null);
    app.notify(reply.warning ?? `Relayed ${reply.turn_id} to ${to}`);
  };
  return (
    <Dialog label="Relay a turn" onClose={() => app.show(null)}>
      <div className="form">
        <h2>Relay {from.includes(':') ? `turn ${from.slice(from.lastIndexOf(':') + 1)}` : 'the last turn'} of {source} to…</h2>
        <pre className="presented-text relay-text" tabIndex={0} role="group" aria-label="Text of the turn">
          {text}
        </pre>
        {targets.length === 0 ? <EmptyState title="There is no other session" /> : null}
        <ul className="choices">
          {targets.map((session, i) => (
            <li key={session.name}>
              <button type="button" className="choice-button" data-focus-first={i === 0 || undefined} onClick={() => void relay(session.name)}>
                <StateDot state={stateOf(session)} />
                <span>{session.name}</span>
                <span className="muted">{STATE_LABELS[stateOf(session)]}</span>
              </button>
            </li>
          ))}
        </ul>
        <div className="form-actions form-actions-spread">
          <label className="choice">
            <input type="checkbox" checked={submit} onChange={(event) => setSubmit(event.target.checked)} />
            Press Enter after the text
          </label>
          <button type="button" className="button" onClick={() => app.show(null)}>
            Cancel
          </button>
        </div>
      </div>
    </Dialog>
  );
}
