/**
 * The beginning of the page, small enough to run while the rest is still being loaded: it connects, fetches what there
 * is, and attaches to the terminal that will be shown first. `view.tsx` then shows it.
 */
import { App } from './model/app';
import { graphicsCardHelps } from './term/graphics';
import { WebSocketTransport } from './transport/websocket';
import { isConnectPage, takeAddress } from './tunnel/address-bar';

/** Shows the sessions of the machine that the page comes from. */
function begin(): void {
  const app = new App(new WebSocketTransport());
  // What the first terminal has to know; the answer takes a while, and is remembered.
  graphicsCardHelps();
  // The browser has loaded the view meanwhile (see `vite.config.ts`). Executing it takes longer than the replies, and
  // would delay them, and with them the terminal's output.
  void app
    .known()
    .then(() => import('./view'))
    .then(({ show }) => show(app));
}

const place = document.getElementById('root');
if (place && isConnectPage()) {
  const address = takeAddress();
  void import('./tunnel/page').then(({ showConnectPage }) => showConnectPage(place, address));
} else {
  begin();
}
