import { useApp } from './context';
import { Dialog } from './controls';

/** Nothing ends without this question: what runs in a terminal cannot be brought back. */
export function KillDialog({ session, pty }: { session: string; pty: number | null }) {
  const app = useApp();
  const kill = () => {
    app.show(null);
    void (pty === null ? app.run('kill', { session }) : app.run('sessionkill', { session, pty }));
  };
  const what = pty === null ? session : `shell ${pty} of ${session}`;
  return (
    <Dialog label={`Kill ${what}`} className="dialog-small" onClose={() => app.show(null)}>
      <form
        className="form"
        onSubmit={(event) => {
          event.preventDefault();
          kill();
        }}
      >
        <h2>Kill {what}?</h2>
        <p className="muted">{pty === null ? 'Its agent and all its shells end. Their scrollback is lost.' : 'Its programs end, and its scrollback is lost.'}</p>
        <div className="form-actions">
          <button type="button" className="button" onClick={() => app.show(null)}>
            Cancel
          </button>
          <button type="submit" className="button button-danger" data-focus-first>
            Kill
          </button>
        </div>
      </form>
    </Dialog>
  );
}
