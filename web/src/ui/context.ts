import { createContext, useContext, useEffect, useState } from 'react';
import type { App } from '../model/app';
import type { AppState } from '../model/state';
import { useStore } from '../model/store';

export const AppContext = createContext<App | null>(null);

export function useApp(): App {
  const app = useContext(AppContext);
  if (!app) throw new Error('rendered outside of AppContext');
  return app;
}

export function useAppState<Part>(select: (state: AppState) => Part): Part {
  return useStore(useApp().store, select);
}

/** The time, for texts such as "5m"; renders again every `interval` milliseconds. */
export function useNow(interval: number): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), interval);
    return () => clearInterval(timer);
  }, [interval]);
  return now;
}
