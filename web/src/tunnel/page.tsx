import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import '../styles/all';
import { takeAddress } from './address-bar';
import './connect.css';
import { ConnectPage } from './ConnectPage';
import { ConnectModel } from './model';

/** Shows the page for tunnels, and connects if it was opened with an address. */
export function showConnectPage(place: HTMLElement, address: string | null): void {
  const model = new ConnectModel();
  if (address !== null) model.connect(address);
  // An address that is pasted into the bar of this page does not load it again.
  addEventListener('hashchange', () => {
    const another = takeAddress();
    if (another !== null) model.connect(another);
  });
  createRoot(place).render(
    <StrictMode>
      <ConnectPage model={model} />
    </StrictMode>,
  );
}
