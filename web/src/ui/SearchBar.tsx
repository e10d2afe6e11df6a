import { useEffect, useRef, useState } from 'react';
import { IconButton } from './controls';

interface SearchBarProps {
  results: { index: number; count: number };
  onFind(text: string, direction: 'next' | 'previous', incremental: boolean): void;
  onClose(): void;
}

/** xterm.js marks so many results at most; beyond that it knows neither their number nor the place among them. */
const MARKED = 1000;

function describeResults({ index, count }: SearchBarProps['results']): string {
  if (count === 0) return 'No results';
  if (index >= 0) return `${index + 1} of ${count}`;
  return count >= MARKED ? `Over ${MARKED}` : `${count} found`;
}

export function SearchBar({ results, onFind, onClose }: SearchBarProps) {
  const [text, setText] = useState('');
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => void field.current?.focus(), []);
  const count = text === '' ? '' : describeResults(results);
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
