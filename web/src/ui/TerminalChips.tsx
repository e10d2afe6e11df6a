import type { SessionItem } from '../protocol/control';
import { joinWords } from '../text/words';
import { useApp } from './context';

/** Shows that the terminal takes no input, and changes that where the role allows it. */
export function WatchChip({ session, watch, phone }: { session: string; watch: boolean; phone: boolean }) {
  const app = useApp();
  if (!app.may('drive')) return watch ? <span className="chip">Watching</span> : null;
  // A phone sends keys and prompts while it watches; what changes there is whose size the terminal has.
  const label = !phone ? 'Watching · Type here' : watch ? 'Watching · Fit to this screen' : 'Keep its own size';
  if (!phone && !watch) return null;
  return (
    <button type="button" className="chip chip-button" onClick={() => app.toggleWatching(session)}>
      {label}
    </button>
  );
}

interface EndBarProps {
  session: string;
  pty: number;
  code: number;
  item: SessionItem | undefined;
}

/** What is left to do with a terminal whose program has ended. */
export function EndBar({ session, pty, code, item }: EndBarProps) {
  const app = useApp();
  // The list shortens long commands; those cannot be repeated.
  const argv = item?.argv?.some((word) => word.endsWith('…')) ? [] : (item?.argv ?? []);
  return (
    <div className="end-bar" role="status">
      <span>Exited with code {code}</span>
      {pty === 0 && item && app.may('drive') ? (
        <span className="end-actions">
          <button type="button" className="button" onClick={() => app.show({ kind: 'new-session', workspace: item.workspace, command: joinWords(argv), name: session })}>
            Start again…
          </button>
          <button type="button" className="button" onClick={() => app.show({ kind: 'kill', session, pty: null })}>
            Remove…
          </button>
        </span>
      ) : null}
    </div>
  );
}
