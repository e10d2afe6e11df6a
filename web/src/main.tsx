import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { App } from './model/app';
import './styles/base.css';
import './styles/controls.css';
import './styles/frame.css';
import './styles/panes.css';
import './styles/reader.css';
import './styles/cards.css';
import './styles/overlays.css';
import './styles/phone.css';
import { WebSocketTransport } from './transport/websocket';
import { AppContext } from './ui/context';
import { Root } from './ui/Root';

const place = document.getElementById('root');
if (place) {
  const app = new App(new WebSocketTransport());
  createRoot(place).render(
    <StrictMode>
      <AppContext value={app}>
        <Root />
      </AppContext>
    </StrictMode>,
  );
}
