import { useState } from 'react';
import { useApp, useAppState, useNow } from './context';
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
  if (connection === 'stopped') {
    return (
      <div className="banner" role="alert">
        The web server was stopped. Your sessions keep running; <code>swb serve</code> starts it again.
      </div>
    );
  }
  if (connection !== 'lost') return null;
  return <LostBanner wasConnected={wasConnected} />;
}

/** A daemon that was ended or upgraded is back sooner than this. */
const RESTART_MS = 10_000;

function LostBanner({ wasConnected }: { wasConnected: boolean }) {
  const [since] = useState(Date.now);
  const now = useNow(1000);
  const restarts = wasConnected && now - since < RESTART_MS;
  const text = !navigator.onLine
    ? 'This device is offline; reconnecting…'
    : restarts
      ? 'The daemon restarted; reconnecting…'
      : 'The daemon does not respond; reconnecting…';
  return (
    <div className="banner" role="status">
      {text}
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
