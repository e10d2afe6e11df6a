import '@xterm/xterm/css/xterm.css';
import { useEffect, useRef, useState } from 'react';
import { actionFor, runAction } from '../actions/actions';
import type { TerminalState } from '../client/terminal';
import type { Leaf } from '../layout/tree';
import type { SessionItem } from '../protocol/control';
import { type ForeignSize, TerminalScreen } from '../term/screen';
import { useApp, useAppState } from './context';
import { SearchBar } from './SearchBar';
import { EndBar, WatchChip } from './TerminalChips';

const PHONE_FONT = 12;

interface Results {
  index: number;
  count: number;
}

/** A terminal in a pane. React places it; everything inside belongs to `TerminalScreen`. */
export function TerminalView({ leaf, pty, session: item }: { leaf: Leaf; pty: number; session: SessionItem | undefined }) {
  const app = useApp();
  const place = useRef<HTMLDivElement>(null);
  const screen = useRef<TerminalScreen | null>(null);
  const [state, setState] = useState<TerminalState>('connecting');
  const [exitCode, setExitCode] = useState<number | null>(null);
  const [foreign, setForeign] = useState<ForeignSize | null>(null);
  const [searching, setSearching] = useState(false);
  const [results, setResults] = useState<Results>({ index: -1, count: 0 });
  const phone = useAppState((value) => value.phone);
  const watch = useAppState(() => app.watches(leaf.session));
  const fontSize = useAppState((value) => value.fontSize) - (phone ? 13 - PHONE_FONT : 0);
  // The page says so by itself then, and nothing reconnects for now.
  const stopped = useAppState((value) => value.connection === 'stopped');
  const { session } = leaf;
  const runs = item?.status === 'running';
  // A session that has ended may be started again under its name: the terminal is then another one.
  const [run, setRun] = useState(0);
  useEffect(() => {
    if (!runs || exitCode === null) return;
    setExitCode(null);
    setRun((value) => value + 1);
    // Only the return of the session counts; at the moment of an exit the list still has it as running.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [runs]);

  useEffect(() => {
    if (!place.current) return;
    const created = new TerminalScreen(place.current, {
      early: app.early,
      session,
      pty,
      watch,
      fontSize,
      label: pty === 0 ? `Terminal of ${session}` : `Shell ${pty} of ${session}`,
      onState: setState,
      onNotice: (text) => app.notify(text),
      onExit: setExitCode,
      onForeignSize: setForeign,
      onResults: (index, count) => setResults({ index, count }),
      onKey: (event) => {
        const action = actionFor(event, true);
        if (action) runAction(app, action);
        return action !== null;
      },
    });
    screen.current = created;
    app.screens.set(leaf.id, created);
    app.searches.set(leaf.id, () => setSearching(true));
    if (app.focusedLeaf()?.id === leaf.id && !app.store.get().overlay) app.focusTerminal();
    return () => {
      if (app.screens.get(leaf.id) === created) app.screens.delete(leaf.id);
      app.searches.delete(leaf.id);
      created.dispose();
    };
    // Changes of `watch` and `fontSize` reach the screen below; they must not paint the terminal again.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [app, session, pty, leaf.id, run]);

  useEffect(() => void screen.current?.setWatch(watch), [watch]);
  useEffect(() => void screen.current?.setFontSize(fontSize), [fontSize]);

  return (
    <div className="terminal" data-watching={watch}>
      <div className="terminal-place" data-tall={foreign?.tall ?? false} ref={place} />
      {searching ? (
        <SearchBar
          results={results}
          onFind={(text, direction, incremental) => screen.current?.find(text, direction, incremental)}
          onClose={() => {
            setSearching(false);
            screen.current?.endFind();
            app.focusTerminal();
          }}
        />
      ) : null}
      <div className="terminal-chips" role="status">
        {foreign && exitCode === null ? (
          <button type="button" className="chip chip-button" title="Another client has set this size" onClick={() => screen.current?.takeSize()}>
            {foreign.cols}×{foreign.rows} · Fit to this window
          </button>
        ) : null}
        {state === 'lost' && exitCode === null && !stopped ? <span className="chip">Reconnecting…</span> : null}
        {state !== 'lost' && exitCode === null ? <WatchChip session={session} watch={watch} phone={phone} /> : null}
      </div>
      {exitCode !== null ? <EndBar session={session} pty={pty} code={exitCode} item={item} /> : null}
    </div>
  );
}
