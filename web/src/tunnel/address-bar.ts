/** Whether this is the page for tunnels: at its path on a server of ours, or built as a file of its own (`connect.html`). */
export function isConnectPage(): boolean {
  return location.pathname === '/connect' || document.documentElement.dataset['page'] === 'connect';
}

/**
 * The address that the page was opened with, if it has a fragment. It contains a secret, so it disappears from the
 * address bar and the history at once.
 */
export function takeAddress(): string | null {
  if (location.hash.length <= 1) return null;
  const address = location.href;
  history.replaceState(null, '', location.pathname);
  return address;
}
