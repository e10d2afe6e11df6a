import { useState } from 'react';
import { listOrder, STATE_LABELS, stateOf } from '../model/sessions';
import { useApp, useAppState } from './context';
import { Dialog, EmptyState } from './controls';
import { StateDot } from './StateDot';

/** Chooses the session that gets a turn; `from` is a turn, or a session for its newest one. */
export function RelayDialog({ from }: { from: string }) {
  const app = useApp();
  const sessions = useAppState((state) => state.sessions);
  const [submit, setSubmit] = useState(true);
  const source = from.includes(':') ? from.slice(0, from.lastIndexOf(':')) : from;
  const targets = listOrder(sessions ?? []).filter((session) => session.name !== source && stateOf(session) !== 'exited');

  const relay = async (to: string) => {
    const reply = await app.run('relay', { from, to, submit });
    if (!reply) return;
    app.show(null);
    app.notify(reply.warning ?? `Relayed ${reply.turn_id} to ${to}`);
  };
  return (
    <Dialog label="Relay a turn" onClose={() => app.show(null)}>
      <div className="form">
        <h2>Relay {from.includes(':') ? `turn ${from}` : `the last turn of ${from}`} to…</h2>
        {targets.length === 0 ? <EmptyState title="There is no other session" /> : null}
        <ul className="choices">
          {targets.map((session, i) => (
            <li key={session.name}>
              <button type="button" className="choice-button" data-focus-first={i === 0 ? '' : undefined} onClick={() => void relay(session.name)}>
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
            Press Enter behind it
          </label>
          <button type="button" className="button" onClick={() => app.show(null)}>
            Cancel
          </button>
        </div>
      </div>
    </Dialog>
  );
}
