import { type RefObject, useEffect, useRef } from 'react';

const DISTANCE = 64;
const MAX_MS = 500;

interface SwipeHandlers {
  left(): void;
  right(): void;
}

/** Quick horizontal strokes of one finger; slow or steep ones scroll, and those inside wide text are left to it. */
export function useSwipe(ref: RefObject<HTMLElement | null>, enabled: boolean, handlers: SwipeHandlers): void {
  const current = useRef(handlers);
  current.current = handlers;
  useEffect(() => {
    const element = ref.current;
    if (!element || !enabled) return;
    let start: { x: number; y: number; at: number } | null = null;
    const begin = (event: TouchEvent) => {
      const touch = event.touches[0];
      const scrolls = (event.target as HTMLElement).closest('pre, .md-table, .key-bar, .tabs, textarea');
      start = touch && event.touches.length === 1 && !scrolls ? { x: touch.clientX, y: touch.clientY, at: event.timeStamp } : null;
    };
    const end = (event: TouchEvent) => {
      const touch = event.changedTouches[0];
      if (!start || !touch || event.timeStamp - start.at > MAX_MS) return;
      const dx = touch.clientX - start.x;
      const dy = touch.clientY - start.y;
      start = null;
      if (Math.abs(dx) < DISTANCE || Math.abs(dy) > Math.abs(dx) / 2) return;
      if (dx < 0) current.current.left();
      else current.current.right();
    };
    element.addEventListener('touchstart', begin, { passive: true });
    element.addEventListener('touchend', end, { passive: true });
    return () => {
      element.removeEventListener('touchstart', begin);
      element.removeEventListener('touchend', end);
    };
  }, [ref, enabled]);
}
