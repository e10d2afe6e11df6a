import { ACTIONS } from '../actions/actions';
import { useApp } from './context';
import { Dialog, IconButton, Keys } from './controls';

export function Help() {
  const app = useApp();
  const withKeys = ACTIONS.filter((action) => action.keys);
  const groups = [...new Set(withKeys.map((action) => action.group))];
  return (
    <Dialog label="Keyboard shortcuts" className="dialog-wide" onClose={() => app.show(null)}>
      <header className="help-header">
        <h2>Keyboard shortcuts</h2>
        <IconButton icon="close" label="Close" onClick={() => app.show(null)} />
      </header>
      <div className="help" role="group" aria-label="List of shortcuts" tabIndex={0}>
        {groups.map((group) => (
          <section key={group}>
            <h3>{group}</h3>
            <dl>
              {withKeys.filter((action) => action.group === group).map((action) => (
                <div key={action.id}>
                  <dt>{action.title}</dt>
                  <dd>{action.keys ? <Keys keys={action.keys} /> : null}</dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
        <section>
          <h3>Approvals</h3>
          <dl>
            <div>
              <dt>Allow, deny</dt>
              <dd>
                <Keys keys="y" /> <Keys keys="n" />
              </dd>
            </div>
          </dl>
        </section>
      </div>
      <p className="muted help-note">On a Mac, Command works in place of Ctrl. All other keys go to the terminal.</p>
    </Dialog>
  );
}
