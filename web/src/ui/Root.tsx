import { type ReactNode, useEffect, useRef } from 'react';
import { actionFor, runAction } from '../actions/actions';
import { useApp, useAppState } from './context';
import { Help } from './Help';
import { Inbox } from './Inbox';
import { KillDialog, RestartDialog } from './KillDialog';
import { NewSession } from './NewSession';
import { Palette } from './Palette';
import { Panes } from './Panes';
import { PhoneHeader, PhoneInput } from './Phone';
import { RelayDialog } from './RelayDialog';
import { Sidebar } from './Sidebar';
import { Banner, Notices } from './Status';
import { useSwipe } from './swipe';

function Overlays() {
  const overlay = useAppState((state) => state.overlay);
  switch (overlay?.kind) {
    case 'palette':
      return <Palette />;
    case 'help':
      return <Help />;
    case 'new-session':
      return <NewSession workspace={overlay.workspace} initialCommand={overlay.command ?? ''} initialName={overlay.name ?? ''} />;
    case 'kill':
      return <KillDialog session={overlay.session} pty={overlay.pty} />;
    case 'restart':
      return <RestartDialog session={overlay.session} />;
    case 'relay':
      return <RelayDialog from={overlay.from} />;
    default:
      return null;
  }
}

/** Shortcuts outside of terminals, which pass on those that they do not handle themselves. */
function useShortcuts(): void {
  const app = useApp();
  useEffect(() => {
    const keyDown = (event: KeyboardEvent) => {
      const target = event.target as HTMLElement;
      if (event.defaultPrevented || target.closest('dialog, .xterm')) return;
      const typing = target.matches('input, textarea, select, [contenteditable]');
      const action = actionFor(event, typing);
      if (!action) return;
      event.preventDefault();
      runAction(app, action);
    };
    addEventListener('keydown', keyDown);
    return () => removeEventListener('keydown', keyDown);
  }, [app]);
}

/** The page. `banner` shows the state of the connection. */
export function Root({ banner = <Banner /> }: { banner?: ReactNode }) {
  const app = useApp();
  const phone = useAppState((state) => state.phone);
  const drawer = useAppState((state) => state.drawer);
  const sidebar = useAppState((state) => state.sidebar);
  const inbox = useAppState((state) => state.inbox);
  // What is on the page then is old, and nothing in it has an effect any more.
  const signedOut = useAppState((state) => state.connection === 'signed-out');
  const main = useRef<HTMLElement>(null);
  useShortcuts();
  useSwipe(main, phone, {
    left: () => app.stepSession(1),
    right: () => app.stepSession(-1),
  });
  return (
    <div className="root" data-phone={phone}>
      {banner}
      {phone ? <PhoneHeader /> : null}
      <div className="frame" inert={signedOut}>
        {phone ? null : sidebar ? <Sidebar /> : null}
        <main className="main" ref={main}>
          <Panes />
          {phone ? <PhoneInput /> : null}
        </main>
        {inbox ? <Inbox /> : null}
        {phone && drawer ? (
          <div className="drawer" onKeyDown={(event) => event.key === 'Escape' && app.store.set({ drawer: false })}>
            <button type="button" className="drawer-shade" aria-label="Close the list" onClick={() => app.store.set({ drawer: false })} />
            <Sidebar />
          </div>
        ) : null}
      </div>
      <Overlays />
      <Notices />
    </div>
  );
}
