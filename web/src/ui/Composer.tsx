import { type ReactNode, useRef, useState } from 'react';
import { IconButton } from './controls';

interface ComposerProps {
  label: string;
  placeholder: string;
  disabled?: boolean;
  /** Replaces the button for sending, for example while an answer is being written. */
  action?: ReactNode;
  onEscape?: (() => void) | undefined;
  /** What it was given did not arrive if this resolves to false; the field then has it again. */
  onSend(text: string): Promise<boolean> | void;
}

/** A field for prompts: Enter sends, Shift+Enter begins a line. It grows with its text. */
export function Composer({ label, placeholder, disabled = false, action, onEscape, onSend }: ComposerProps) {
  const [text, setText] = useState('');
  const field = useRef<HTMLTextAreaElement>(null);
  const send = async () => {
    if (text.trim() === '' || disabled) return;
    setText('');
    field.current?.focus();
    if ((await onSend(text)) === false) setText((now) => (now === '' ? text : now));
  };
  return (
    <form
      className="composer"
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      <textarea
        ref={field}
        rows={1}
        aria-label={label}
        placeholder={placeholder}
        value={text}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === 'Escape') onEscape?.();
          // Enter that ends a composition of an input method chooses a word; it does not send.
          if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return;
          event.preventDefault();
          void send();
        }}
      />
      {action ?? <IconButton icon="send" label="Send" onClick={() => void send()} />}
    </form>
  );
}
