import { isConversation } from '../model/conversations';
import { useApp, useAppState } from './context';
import { Dialog } from './controls';

/** Nothing ends without this question: what runs in a terminal cannot be brought back. */
export function KillDialog({ session, pty }: { session: string; pty: number | null }) {
  const app = useApp();
  const item = useAppState((state) => state.sessions?.find((candidate) => candidate.name === session));
  const conversation = item !== undefined && isConversation(item);
  const ended = item?.status === 'exited';
  const kill = () => {
    app.show(null);
    if (conversation) void app.run('forget', { session });
    else if (pty === null) void app.run('kill', { session });
    else void app.run('sessionkill', { session, pty });
  };
  const verb = conversation ? 'Delete' : ended ? 'Remove' : pty === null ? 'Kill' : 'End';
  const what = pty === null ? session : `shell ${pty} of ${session}`;
  const shells = (item?.ptys.length ?? 1) - 1;
  const effect = conversation
    ? 'Its messages are removed from this machine.'
    : ended
      ? 'It disappears from the list, with its scrollback and its turns.'
      : pty !== null
        ? 'Its programs end, and its scrollback is lost.'
        : shells > 0
          ? `Its agent and ${shells === 1 ? 'its shell' : `its ${shells} shells`} end. Their scrollback is lost.`
          : 'Its agent ends, and its scrollback is lost.';
  return <Confirmation verb={verb} what={what} effect={effect} danger={!ended} onConfirm={kill} />;
}

/** A restart ends the program as well; what it has not saved is lost. */
export function RestartDialog({ session }: { session: string }) {
  const app = useApp();
  const restart = () => {
    app.show(null);
    void app.run('restart', { session });
  };
  return <Confirmation verb="Restart" what={`the agent of ${session}`} effect="Its program ends and starts again with the same command. What it is working on is interrupted." danger onConfirm={restart} />;
}

function Confirmation({ verb, what, effect, danger, onConfirm }: { verb: string; what: string; effect: string; danger: boolean; onConfirm(): void }) {
  const app = useApp();
  return (
    <Dialog label={`${verb} ${what}`} className="dialog-small" onClose={() => app.show(null)}>
      <form
        className="form"
        onSubmit={(event) => {
          event.preventDefault();
          onConfirm();
        }}
      >
        <h2>
          {verb} {what}?
        </h2>
        <p className="muted">{effect}</p>
        <div className="form-actions">
          <button type="button" className="button" onClick={() => app.show(null)}>
            Cancel
          </button>
          <button type="submit" className={danger ? 'button button-danger' : 'button button-primary'} data-focus-first>
            {verb}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
