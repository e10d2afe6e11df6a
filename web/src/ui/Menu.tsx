import { type KeyboardEvent, useEffect, useRef, useState } from 'react';
import { IconButton, Keys } from './controls';

export interface MenuItem {
  label: string;
  keys: string;
  danger?: boolean;
  run(): void;
}

/** A button that opens a list of actions; arrow keys, Escape and a click elsewhere work as in a desktop menu. */
export function Menu({ label, items }: { label: string; items(): MenuItem[] }) {
  const [open, setOpen] = useState<MenuItem[] | null>(null);
  const ref = useRef<HTMLDivElement>(null);

  useEffect(() => {
    if (!open) return;
    ref.current?.querySelector<HTMLElement>('[role="menuitem"]')?.focus();
    const outside = (event: PointerEvent) => {
      if (!ref.current?.contains(event.target as Node)) setOpen(null);
    };
    addEventListener('pointerdown', outside, true);
    return () => removeEventListener('pointerdown', outside, true);
  }, [open]);

  const keyDown = (event: KeyboardEvent) => {
    if (!open) return;
    const entries = [...(ref.current?.querySelectorAll<HTMLElement>('[role="menuitem"]') ?? [])];
    const at = entries.indexOf(document.activeElement as HTMLElement);
    const next = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: entries.length - 1 }[event.key];
    if (next !== undefined) {
      entries[(next + entries.length) % entries.length]?.focus();
      event.preventDefault();
    } else if (event.key === 'Escape' || event.key === 'Tab') {
      setOpen(null);
      ref.current?.querySelector('button')?.focus();
      event.preventDefault();
    }
  };

  return (
    <div className="menu" ref={ref} onKeyDown={keyDown}>
      <IconButton icon="more" label={label} pressed={open !== null} onClick={() => setOpen(open ? null : items())} />
      {open ? (
        <div className="menu-list" role="menu" aria-label={label}>
          {open.map((item) => (
            <button
              key={item.label}
              type="button"
              role="menuitem"
              tabIndex={-1}
              className={item.danger ? 'menu-item danger' : 'menu-item'}
              onClick={() => {
                setOpen(null);
                item.run();
              }}
            >
              <span>{item.label}</span>
              {item.keys ? <Keys keys={item.keys} /> : null}
            </button>
          ))}
        </div>
      ) : null}
    </div>
  );
}
