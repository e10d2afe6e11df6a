import { useApp, useAppState } from './context';
import { IconButton } from './controls';

/** The state of the connection, when it is not as it should be. */
export function Banner() {
  const connection = useAppState((state) => state.connection);
  const wasConnected = useAppState((state) => state.wasConnected);
  if (connection === 'signed-out') {
    return (
      <div className="banner banner-error" role="alert">
        You are signed out: the token was revoked or has expired.
        <a href="/">Sign in again</a>
      </div>
    );
  }
  if (connection !== 'lost') return null;
  return (
    <div className="banner" role="status">
      {wasConnected ? 'The connection to the daemon was lost; reconnecting…' : 'The daemon does not respond; trying again…'}
    </div>
  );
}

export function Notices() {
  const app = useApp();
  const notices = useAppState((state) => state.notices);
  return (
    <div className="notices" role="status" aria-live="polite">
      {notices.map((notice) => (
        <div key={notice.id} className={`notice notice-${notice.kind}`}>
          <span>{notice.text}</span>
          <IconButton icon="close" label="Dismiss" onClick={() => app.dismiss(notice.id)} />
        </div>
      ))}
    </div>
  );
}
