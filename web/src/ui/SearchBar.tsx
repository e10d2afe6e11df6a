import { useEffect, useRef, useState } from 'react';
import { IconButton } from './controls';

interface SearchBarProps {
  results: { index: number; count: number };
  onFind(text: string, direction: 'next' | 'previous', incremental: boolean): void;
  onClose(): void;
}

export function SearchBar({ results, onFind, onClose }: SearchBarProps) {
  const [text, setText] = useState('');
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => void field.current?.focus(), []);
  const count = text === '' ? '' : results.count === 0 ? 'No results' : `${results.index + 1} of ${results.count}`;
  return (
    <div className="search-bar" role="search">
      <input
        ref={field}
        type="text"
        aria-label="Find in the terminal"
        placeholder="Find"
        spellCheck={false}
        autoComplete="off"
        value={text}
        onChange={(event) => {
          setText(event.target.value);
          onFind(event.target.value, 'previous', true);
        }}
        onKeyDown={(event) => {
          if (event.key === 'Enter') onFind(text, event.shiftKey ? 'next' : 'previous', false);
          else if (event.key === 'Escape') onClose();
          else return;
          event.preventDefault();
        }}
      />
      <span className="search-count" aria-live="polite">
        {count}
      </span>
      <IconButton icon="up" label="Previous result" onClick={() => onFind(text, 'previous', false)} />
      <IconButton icon="down" label="Next result" onClick={() => onFind(text, 'next', false)} />
      <IconButton icon="close" label="End the search" onClick={onClose} />
    </div>
  );
}
