import { createContext, useContext, useEffect, useState, useSyncExternalStore } from 'react';
import type { App } from '../model/app';
import type { AppState } from '../model/state';
import type { Store } from '../model/store';

export const AppContext = createContext<App | null>(null);

export function useApp(): App {
  const app = useContext(AppContext);
  if (!app) throw new Error('rendered outside of AppContext');
  return app;
}

/** Follows one part of the state; the component renders again only when that part is another value. */
export function useAppState<Part>(select: (state: AppState) => Part): Part {
  return useStore(useApp().store, select);
}

/** The same for any store. */
export function useStore<T, Part>(store: Store<T>, select: (value: T) => Part): Part {
  return useSyncExternalStore(store.subscribe, () => select(store.get()));
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
