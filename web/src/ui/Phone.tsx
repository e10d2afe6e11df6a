import { useState } from 'react';
import { stateOf } from '../model/sessions';
import { Composer } from './Composer';
import { useApp, useAppState } from './context';
import { IconButton } from './controls';
import { StateDot } from './StateDot';
import { ask } from './TurnsView';

/** Above everything on a phone: the list, the session's name, the approvals. */
export function PhoneHeader() {
  const app = useApp();
  const leaf = useAppState(() => app.focusedLeaf());
  const session = useAppState((state) => state.sessions?.find((item) => item.name === leaf?.session));
  const approvals = useAppState((state) => state.approvals.length);
  const drawer = useAppState((state) => state.drawer);
  return (
    <header className="phone-header">
      <IconButton icon="menu" label="Sessions" pressed={drawer} onClick={() => app.store.set({ drawer: !drawer })} />
      <h1 className="pane-title">
        {session ? <StateDot state={stateOf(session)} /> : null}
        <span>{leaf?.session ?? 'Switchboard'}</span>
      </h1>
      <IconButton icon="search" label="Command palette" onClick={() => app.show({ kind: 'palette' })} />
      <IconButton icon="inbox" label={approvals > 0 ? `Approvals, ${approvals} waiting` : 'Approvals'} badge={approvals} onClick={() => app.setInbox(true)} />
    </header>
  );
}

const KEYS: { label: string; name: string; key: string }[] = [
  { label: 'Esc', name: 'Esc (Escape)', key: 'Escape' },
  { label: 'Tab', name: 'Tab', key: 'Tab' },
  { label: '←', name: 'Left', key: 'Left' },
  { label: '↓', name: 'Down', key: 'Down' },
  { label: '↑', name: 'Up', key: 'Up' },
  { label: '→', name: 'Right', key: 'Right' },
  { label: '↵', name: 'Enter', key: 'Enter' },
];

/**
 * Keys that a phone's keyboard does not have, and a field for prompts. Both go through operations, not through the
 * terminal's connection, so that a phone can use a session without giving it its own size.
 */
export function PhoneInput() {
  const app = useApp();
  const [ctrl, setCtrl] = useState(false);
  const leaf = useAppState(() => app.focusedLeaf());
  const item = useAppState((state) => state.sessions?.find((candidate) => candidate.name === leaf?.session));
  // A program that has ended takes neither keys nor text.
  if (!leaf || leaf.tab.kind !== 'terminal' || item?.status === 'exited') return null;
  const { session } = leaf;
  const { pty } = leaf.tab;

  const press = async (key: string): Promise<boolean> => {
    setCtrl(false);
    return (await app.run('keys', { session, pty, keys: [ctrl ? `C-${key}` : key] })) !== null;
  };
  const send = async (text: string): Promise<boolean> => {
    if (ctrl && [...text.trim()].length === 1) return press(text.trim().toLowerCase());
    // A prompt waits for its turn; what is typed into a dialog or a busy program goes there as it is.
    if (pty === 0 && (item?.agent?.state === 'ready' || !app.may('drive'))) return ask(app, session, text);
    return (await app.run('send', { session, pty, text, enter: true })) !== null;
  };
  return (
    <div className="phone-input">
      {app.may('drive') ? (
        <div className="key-bar" role="toolbar" aria-label="Keys">
          <button type="button" className="key" aria-pressed={ctrl} onClick={() => setCtrl(!ctrl)}>
            Ctrl
          </button>
          {KEYS.map(({ label, name, key }) => (
            <button key={key} type="button" className="key" aria-label={name} onPointerDown={(event) => event.preventDefault()} onClick={() => void press(key)}>
              {label}
            </button>
          ))}
          <button type="button" className="key" aria-label="Ctrl+C" onPointerDown={(event) => event.preventDefault()} onClick={() => void app.run('keys', { session, pty, keys: ['C-c'] })}>
            ^C
          </button>
        </div>
      ) : null}
      {app.may('drive') || (pty === 0 && app.may('prompt')) ? <Composer label={`Prompt for ${session}`} placeholder={ctrl ? 'One character, with Ctrl' : `Send to ${session}`} onSend={send} /> : null}
    </div>
  );
}
