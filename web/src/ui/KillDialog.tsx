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
  return (
    <Dialog label={`${verb} ${what}`} className="dialog-small" onClose={() => app.show(null)}>
      <form
        className="form"
        onSubmit={(event) => {
          event.preventDefault();
          kill();
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
          <button type="submit" className={ended ? 'button button-primary' : 'button button-danger'} data-focus-first>
            {verb}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
