import { type RefObject, useEffect, useRef } from 'react';

/** How far from the end, in pixels, a reader still counts as being at the end. */
const NEAR_END = 48;

/**
 * Keeps the end of a growing text in view, unless the reader has scrolled up. It follows the size of the content and not
 * the data behind it: texts that are fetched one by one and parts that unfold change the size, too.
 */
export function useFollow(): { scroll: RefObject<HTMLDivElement | null>; content: RefObject<HTMLDivElement | null>; toEnd(): void } {
  const scroll = useRef<HTMLDivElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const following = useRef(true);
  const toEnd = () => {
    following.current = true;
    if (scroll.current) scroll.current.scrollTop = scroll.current.scrollHeight;
  };
  useEffect(() => {
    const box = scroll.current;
    const column = content.current;
    if (!box || !column) return;
    let top = box.scrollTop;
    const scrolled = () => {
      // The event comes later than the scrolling, and the text may have grown since: only a way up is the reader's.
      if (box.scrollHeight - box.scrollTop - box.clientHeight < NEAR_END) following.current = true;
      else if (box.scrollTop < top) following.current = false;
      top = box.scrollTop;
    };
    const observer = new ResizeObserver(() => {
      if (following.current) box.scrollTop = box.scrollHeight;
    });
    // The box itself changes with the window and with a phone's keyboard.
    observer.observe(box);
    observer.observe(column);
    box.addEventListener('scroll', scrolled, { passive: true });
    return () => {
      observer.disconnect();
      box.removeEventListener('scroll', scrolled);
    };
  }, []);
  return { scroll, content, toEnd };
}
