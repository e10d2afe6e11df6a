import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import type { App } from './model/app';
import './styles/all';
import { AppContext } from './ui/context';
import { Root } from './ui/Root';

/** Puts the page into the document. */
export function show(app: App): void {
  const place = document.getElementById('root');
  if (!place) return;
  createRoot(place).render(
    <StrictMode>
      <AppContext value={app}>
        <Root />
      </AppContext>
    </StrictMode>,
  );
}
