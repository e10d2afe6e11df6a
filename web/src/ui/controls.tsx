import { type ReactNode, useEffect, useRef } from 'react';
import { Icon, type IconName } from './Icon';

/** The keys of an action as people write them. */
export function Keys({ keys }: { keys: string }) {
  const names: Record<string, string> = { ArrowUp: '↑', ArrowDown: '↓', ArrowLeft: '←', ArrowRight: '→', Backspace: '⌫', Enter: '↵', Plus: '+' };
  return (
    <span className="keys">
      {keys.split('+').map((key) => (
        <kbd key={key}>{names[key] ?? key}</kbd>
      ))}
    </span>
  );
}

interface IconButtonProps {
  icon: IconName;
  label: string;
  onClick(): void;
  pressed?: boolean;
  badge?: number;
}

export function IconButton({ icon, label, onClick, pressed, badge }: IconButtonProps) {
  return (
    <button type="button" className="icon-button" aria-label={label} title={label} aria-pressed={pressed} onClick={onClick}>
      <Icon name={icon} />
      {badge ? <span className="badge">{badge}</span> : null}
    </button>
  );
}

interface DialogProps {
  label: string;
  className?: string;
  onClose(): void;
  children: ReactNode;
}

/** A modal dialog. The browser keeps the focus inside and closes it on Escape. */
export function Dialog({ label, className = '', onClose, children }: DialogProps) {
  const ref = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const dialog = ref.current;
    // The browser would focus the first control. React's own `autoFocus` comes too early: before, nothing is visible.
    if (dialog && !dialog.open) {
      dialog.showModal();
      dialog.querySelector<HTMLElement>('[data-focus-first]')?.focus();
    }
    return () => dialog?.close();
  }, []);
  return (
    <dialog
      ref={ref}
      className={`dialog ${className}`}
      aria-label={label}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onMouseDown={(event) => {
        if (event.target === ref.current) onClose();
      }}
    >
      <div className="dialog-body">{children}</div>
    </dialog>
  );
}

export function EmptyState({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className="empty">
      <p className="empty-title">{title}</p>
      {children}
    </div>
  );
}
