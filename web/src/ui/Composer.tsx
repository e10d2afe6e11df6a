import { type ReactNode, useRef, useState } from 'react';
import { IconButton } from './controls';

interface ComposerProps {
  label: string;
  placeholder: string;
  disabled?: boolean;
  /** Replaces the button for sending, for example while an answer is being written. */
  action?: ReactNode;
  onEscape?: (() => void) | undefined;
  onSend(text: string): void;
}

/** A field for prompts: Enter sends, Shift+Enter begins a line. It grows with its text. */
export function Composer({ label, placeholder, disabled = false, action, onEscape, onSend }: ComposerProps) {
  const [text, setText] = useState('');
  const field = useRef<HTMLTextAreaElement>(null);
  const send = () => {
    if (text.trim() === '' || disabled) return;
    onSend(text);
    setText('');
    field.current?.focus();
  };
  return (
    <form
      className="composer"
      onSubmit={(event) => {
        event.preventDefault();
        send();
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
          send();
        }}
      />
      {action ?? <IconButton icon="send" label="Send" onClick={send} />}
    </form>
  );
}
