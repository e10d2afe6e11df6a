import { memo, useCallback, useEffect, useState } from 'react';
import type { Turn, TurnItem } from '../protocol/control';
import { copyText } from '../term/clipboard';
import { clock } from '../text/time';
import { Composer } from './Composer';
import { useApp, useAppState, useNow } from './context';
import { EmptyState } from './controls';
import { useFollow } from './follow';
import { Icon } from './Icon';
import { Markdown } from './Markdown';

const TURNS = 30;
/** The text of a longer turn is fetched up to here; the terminal has the rest. */
const MAX_PIECES = 16;

/** The whole text of a turn: a reply holds as much as fits, and names the length of all. */
async function readTurn(app: ReturnType<typeof useApp>, id: string): Promise<Turn> {
  const turn = await app.control.request('turn', { turn_id: id, length: 0 });
  const encoder = new TextEncoder();
  let text = turn.text ?? '';
  for (let piece = 1; piece < MAX_PIECES && turn.text_length !== undefined; piece += 1) {
    const from = encoder.encode(text).length;
    if (from >= turn.text_length) break;
    const next = await app.control.request('turn', { turn_id: id, length: 0, text_from: from });
    if (!next.text) break;
    text += next.text;
  }
  return { ...turn, text };
}

const TurnCard = memo(function TurnCard({ item, now }: { item: TurnItem; now: number }) {
  const app = useApp();
  const [turn, setTurn] = useState<Turn | null>(null);
  const [failure, setFailure] = useState('');
  useEffect(() => {
    let current = true;
    readTurn(app, item.turn_id).then(
      (value) => current && setTurn(value),
      (error: unknown) => current && setFailure(error instanceof Error ? error.message : String(error)),
    );
    return () => {
      current = false;
    };
  }, [app, item.turn_id]);
  const text = turn?.text ?? '';
  return (
    <article className="turn" aria-label={`Turn ${item.turn_id}`}>
      <header className="turn-header">
        <span className="turn-number">Turn {item.turn_id.slice(item.turn_id.lastIndexOf(':') + 1)}</span>
        <span className="muted">{clock(item.timestamp, now)}</span>
        {item.interrupted ? <span className="muted">interrupted</span> : null}
        {item.truncated ? <span className="muted">shortened</span> : null}
        <span className="turn-actions">
          <button type="button" className="quiet-button" aria-label="Copy this turn" onClick={() => void copyText(text).then((copied) => app.notify(copied ? 'Copied' : 'The browser did not copy the text'))}>
            <Icon name="copy" />
            Copy
          </button>
          {app.may('prompt') ? (
            <button type="button" className="quiet-button" aria-label="Relay this turn to…" onClick={() => app.show({ kind: 'relay', from: item.turn_id })}>
              <Icon name="relay" />
              Relay
            </button>
          ) : null}
        </span>
      </header>
      {failure ? <p className="failure">{failure}</p> : null}
      {turn && item.source === 'transcript' ? <Markdown text={text} /> : null}
      {turn && item.source !== 'transcript' ? <pre className="turn-text">{text || 'No text'}</pre> : null}
      {!turn && !failure ? <div className="turn-loading" aria-hidden="true" /> : null}
    </article>
  );
});

/** Sends a prompt and reports what came of it; the turn itself appears in the list. Returns whether it was typed. */
export async function ask(app: ReturnType<typeof useApp>, session: string, text: string): Promise<boolean> {
  const reply = await app.run('ask', { session, text });
  if (reply?.met === 'asking') app.notify(`${session} asks: ${reply.detail ?? 'see its terminal'}`);
  // A timeout has a detail if nothing was typed.
  const refused = reply?.met === 'timeout' ? reply.detail : undefined;
  if (refused) app.notify(refused, 'error');
  return reply !== null && !refused;
}

/** The turns of a session as text, the newest last, as in a conversation. */
export function TurnsView({ session }: { session: string }) {
  const app = useApp();
  const [turns, setTurns] = useState<TurnItem[] | null>(null);
  const [failure, setFailure] = useState('');
  const { scroll, content, toEnd } = useFollow();
  const now = useNow(30_000);
  // Every change of the session's state may mean a new turn.
  const since = useAppState((state) => state.sessions?.find((item) => item.name === session)?.agent?.since ?? 0);
  const connected = useAppState((state) => state.connection === 'open');

  const load = useCallback(async () => {
    try {
      const reply = await app.control.request('turns', { session, limit: TURNS });
      setTurns((before) => (before && before[before.length - 1]?.turn_id === reply.turns[0]?.turn_id ? before : [...reply.turns].reverse()));
      setFailure('');
    } catch (error) {
      setFailure(error instanceof Error ? error.message : String(error));
    }
  }, [app, session]);
  useEffect(() => {
    if (connected) void load();
  }, [load, since, connected]);

  return (
    <div className="reader">
      <div className="reader-scroll" ref={scroll} tabIndex={0} role="log" aria-label={`Turns of ${session}`}>
        <div className="reader-column" ref={content}>
          {turns === null && !failure ? <p className="loading">Loading the turns…</p> : null}
          {failure && !turns ? <EmptyState title="The turns cannot be read"><p>{failure}</p></EmptyState> : null}
          {turns?.length === 0 ? (
            <EmptyState title="No turns yet">
              <p>An agent's answer to one input becomes a turn, which can be read, copied and relayed here.</p>
            </EmptyState>
          ) : null}
          {turns?.map((item) => <TurnCard key={item.turn_id} item={item} now={now} />)}
        </div>
      </div>
      {app.may('prompt') ? (
        <div className="reader-composer">
          <Composer label={`Prompt for ${session}`} placeholder={`Ask ${session}`} onSend={async (text) => {
              toEnd();
              const typed = await ask(app, session, text);
              void load();
              return typed;
            }} />
        </div>
      ) : null}
    </div>
  );
}
