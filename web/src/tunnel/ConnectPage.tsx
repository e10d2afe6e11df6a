import { type ReactNode, useState } from 'react';
import { copyText } from '../term/clipboard';
import { shortAge } from '../text/time';
import { AppContext, useNow, useStore } from '../ui/context';
import { IconButton } from '../ui/controls';
import { Icon } from '../ui/Icon';
import { Root } from '../ui/Root';
import { type Failure, noWay, type Stage } from './dialler';
import type { Envelope } from './invitation';
import { forgetMachine, type KnownMachine, knownMachines, lastSessions } from './machines';
import type { ConnectModel, ConnectState } from './model';
import type { TunnelEnd } from './datachannel';
import { QrCode } from './QrCode';
import type { Tunnel } from './tunnel';

type Connecting = NonNullable<ConnectState['stage']>;

export function ConnectPage({ model }: { model: ConnectModel }) {
  const { stage, connected } = useStore(model.store, (state) => state);
  if (connected) {
    return (
      <AppContext value={connected.app}>
        <Root banner={<TunnelBanner tunnel={connected.tunnel} onLeave={() => model.leave()} />} />
      </AppContext>
    );
  }
  return (
    <main className="connect">
      <div className="connect-column">{stage ? <Way stage={stage} onLeave={() => model.leave()} /> : <Start model={model} />}</div>
    </main>
  );
}

/** Text with commands between backquotes. */
function WithCommands({ text }: { text: string }): ReactNode {
  return text.split('`').map((part, at) => (at % 2 === 1 ? <code key={at}>{part}</code> : part));
}

// The start page

function Start({ model }: { model: ConnectModel }) {
  const problem = useStore(model.store, (state) => state.problem);
  const [machines, setMachines] = useState(knownMachines);
  const [address, setAddress] = useState('');
  const forget = (id: string) => {
    forgetMachine(id);
    setMachines(knownMachines());
  };
  return (
    <>
      <h1>Connect to a machine</h1>
      <p className="muted">
        Run <code>swb tunnel</code> on the machine. Scan the QR code that it shows, open its address, or paste the address here. The connection goes straight to the machine and is encrypted from end to end.
      </p>
      <form
        className="connect-form"
        onSubmit={(event) => {
          event.preventDefault();
          model.connect(address);
        }}
      >
        <label className="form-row">
          <span>Address or offer</span>
          <textarea
            className="field connect-address"
            rows={3}
            value={address}
            onChange={(event) => setAddress(event.target.value)}
            onKeyDown={(event) => {
              // Neither contains a line break, so Enter can have only one meaning.
              if (event.key === 'Enter') {
                event.preventDefault();
                model.connect(address);
              }
            }}
            placeholder="http://…/connect#…"
            spellCheck={false}
            autoCapitalize="off"
            autoComplete="off"
          />
        </label>
        {problem ? (
          <p className="failure" role="alert">
            {problem}
          </p>
        ) : null}
        <button type="submit" className="button button-primary" disabled={address.trim() === ''}>
          Connect
        </button>
      </form>
      {machines.length > 0 ? <Machines machines={machines} onForget={forget} /> : null}
    </>
  );
}

function Machines({ machines, onForget }: { machines: KnownMachine[]; onForget(id: string): void }) {
  const now = useNow(30_000);
  return (
    <section aria-labelledby="known-machines">
      <h2 id="known-machines">Known machines</h2>
      <p className="muted">
        Each tunnel is used once. To connect again, run <code>swb tunnel</code> there, and scan or paste its new address; your panes open as you left them.
      </p>
      <ul className="machine-list">
        {machines.map(({ id, hostname, at }) => {
          const sessions = lastSessions(id);
          return (
            <li key={id} className="machine-row">
              <div>
                <span className="machine-row-name">{hostname}</span>
                <span className="muted">
                  Last connected {shortAge(at, now)} ago
                  {sessions.length > 0 ? ` · ${sessions.slice(0, 4).join(', ')}${sessions.length > 4 ? ', …' : ''}` : ''}
                </span>
              </div>
              <IconButton icon="close" label={`Forget ${hostname}`} onClick={() => onForget(id)} />
            </li>
          );
        })}
      </ul>
    </section>
  );
}

// On the way

const STEPS: { label: (name: string) => string; stages: Stage['at'][] }[] = [
  { label: () => 'Read the offer', stages: ['offer'] },
  { label: () => 'Gather the addresses of this device', stages: ['gathering'] },
  { label: (name) => `Reach ${name}`, stages: ['returning', 'by-hand', 'waiting'] },
  { label: (name) => `Check that it is ${name}`, stages: ['checking'] },
];

const NOW: Record<string, (name: string) => string> = {
  offer: () => 'Reading the offer…',
  gathering: () => 'Gathering the addresses of this device…',
  returning: (name) => `Returning the answer to ${name}…`,
  'by-hand': (name) => `Waiting for ${name} to get the answer below…`,
  waiting: (name) => `Waiting for ${name}…`,
  checking: (name) => `Checking that it is ${name}…`,
};

function Way({ stage, onLeave }: { stage: Connecting; onLeave(): void }) {
  if (stage.at === 'failed') return <Failed failure={stage.failure} onLeave={onLeave} />;
  const name = 'machine' in stage ? stage.machine.hostname : 'the machine';
  const reached = STEPS.findIndex(({ stages }) => stages.includes(stage.at));
  return (
    <>
      <h1>Connecting to {name}</h1>
      <ol className="steps">
        {STEPS.map(({ label }, at) => (
          <li key={at} data-state={at < reached ? 'done' : at === reached ? 'now' : 'later'} aria-current={at === reached ? 'step' : undefined}>
            {at < reached ? <Icon name="check" /> : <span className={at === reached ? 'dot dot-working' : 'dot dot-exited'} />}
            {label(name)}
          </li>
        ))}
      </ol>
      <p role="status">{NOW[stage.at]?.(name)}</p>
      {stage.at === 'by-hand' ? <ByHand answer={stage.answer} machine={stage.machine} /> : null}
      <button type="button" className="button" onClick={onLeave}>
        Cancel
      </button>
    </>
  );
}

/** The answer, for a person to carry. */
function ByHand({ answer, machine }: { answer: string; machine: Envelope }) {
  const name = machine.hostname;
  const [copied, setCopied] = useState('');
  const copy = async (what: string, text: string) => setCopied((await copyText(text)) ? what : '');
  return (
    <section className="by-hand" aria-label="Answer">
      <p>
        This page cannot reach {name} by itself. Paste this answer into the terminal where <code>swb tunnel</code> waits, or run <code>swb tunnel --answer …</code> there.
      </p>
      <textarea className="field by-hand-answer" readOnly rows={5} value={answer} aria-label="Answer" onFocus={(event) => event.target.select()} />
      <div className="by-hand-actions">
        <button type="button" className="button button-primary" onClick={() => void copy('answer', answer)}>
          <Icon name={copied === 'answer' ? 'check' : 'copy'} />
          {copied === 'answer' ? 'Copied' : 'Copy the answer'}
        </button>
        <button type="button" className="button" onClick={() => void copy('command', `swb tunnel --answer ${answer}`)}>
          <Icon name={copied === 'command' ? 'check' : 'copy'} />
          {copied === 'command' ? 'Copied' : 'Copy as a command'}
        </button>
      </div>
      <p className="muted">Or scan it with a device that has a terminal on {name}:</p>
      <QrCode text={answer} label="The answer as a QR code" />
      <details>
        <summary>{name} took the answer, but nothing happens</summary>
        <Hints hints={noWay(machine).hints} />
      </details>
    </section>
  );
}

function Hints({ hints }: { hints: string[] }) {
  return (
    <ul className="hints">
      {hints.map((hint) => (
        <li key={hint}>
          <WithCommands text={hint} />
        </li>
      ))}
    </ul>
  );
}

function Failed({ failure, onLeave }: { failure: Failure; onLeave(): void }) {
  return (
    <>
      <h1>{failure.kind === 'attack' ? 'Stopped: this may be an attack' : 'Not connected'}</h1>
      <div className="connect-failure" data-attack={failure.kind === 'attack'} role="alert">
        <p>
          <WithCommands text={failure.text} />
        </p>
        {failure.hints.length > 0 ? <Hints hints={failure.hints} /> : null}
      </div>
      <button type="button" className="button" onClick={onLeave}>
        Back to the start
      </button>
    </>
  );
}

// Connected

/** Why a host has ended a tunnel, where there is more to say than that. */
const ENDS: Partial<Record<TunnelEnd, string>> = {
  revoked: ': it was revoked there',
  session: ': its session has ended',
  daemon: ': its daemon stops or restarts',
  refused: ': this page sent more than it could handle',
};

function TunnelBanner({ tunnel, onLeave }: { tunnel: Tunnel; onLeave(): void }) {
  const { state, unreachable, reason } = useStore(tunnel.store, (value) => value);
  const { hostname } = tunnel.machine;
  if (state === 'connected') return null;
  if (state === 'interrupted') {
    return (
      <div className="banner" role="status">
        Nothing arrives from {hostname} at the moment; waiting…
      </div>
    );
  }
  return (
    <div className="banner banner-error tunnel-ended" role="alert">
      <p>
        {unreachable ? `The tunnel has ended: ${hostname} can no longer be reached.` : `${hostname} has ended the tunnel${ENDS[reason ?? 'peer'] ?? ''}.`} Run <code>swb tunnel</code> there and open its new address; your panes open as you left them.
      </p>
      <button type="button" className="button button-primary" onClick={onLeave}>
        Connect again
      </button>
    </div>
  );
}
