import { type KeyboardEvent, useMemo, useRef, useState } from 'react';
import { type Entry, paletteEntries, searchEntries } from '../actions/entries';
import { STATE_LABELS } from '../model/sessions';
import { useApp } from './context';
import { Dialog, Keys } from './controls';
import { StateDot } from './StateDot';

/** Maximum number of results: with more of them, people type a longer query. */
const SHOWN = 40;

interface EntryProps {
  entry: Entry;
  index: number;
  selected: boolean;
  onSelect(): void;
  onRun(): void;
}

function PaletteEntry({ entry, index, selected, onSelect, onRun }: EntryProps) {
  return (
    <div id={`palette-${index}`} className="palette-item" role="option" aria-selected={selected} onPointerMove={onSelect} onClick={onRun}>
      {entry.state ? <StateDot state={entry.state} /> : entry.group === 'Sessions' ? <span className="palette-dot" /> : null}
      <span className="palette-title">{entry.title}</span>
      {entry.detail ? (
        <span className="palette-detail">
          {entry.state ? `${STATE_LABELS[entry.state]} · ` : ''}
          {entry.detail}
        </span>
      ) : null}
      {entry.keys ? <Keys keys={entry.keys} /> : null}
    </div>
  );
}

export function Palette() {
  const app = useApp();
  const [query, setQuery] = useState('');
  const [at, setAt] = useState(0);
  const list = useRef<HTMLDivElement>(null);
  const entries = useMemo(() => paletteEntries(app), [app]);
  const found = useMemo(() => searchEntries(entries, query, SHOWN), [entries, query]);
  const selected = Math.min(at, found.length - 1);
  const searching = query.trim() !== '';
  // While searching the best result comes first, of any group.
  const groups = searching ? ['Results'] : [...new Set(found.map((entry) => entry.group))];

  const run = (entry: Entry) => {
    app.show(null);
    entry.run(app);
  };
  const select = (index: number) => {
    setAt(index);
    list.current?.querySelector(`#palette-${index}`)?.scrollIntoView({ block: 'nearest' });
  };
  const keyDown = (event: KeyboardEvent) => {
    const entry = found[selected];
    if (event.key === 'ArrowDown') select((selected + 1) % Math.max(1, found.length));
    else if (event.key === 'ArrowUp') select((selected - 1 + found.length) % Math.max(1, found.length));
    else if (event.key === 'Enter' && entry) run(entry);
    else if (event.key.toLowerCase() === 'k' && (event.ctrlKey || event.metaKey)) {
      // Programs use Ctrl+K too: pressed twice it is for them.
      app.show(null);
      app.focusedScreen()?.input(Uint8Array.of(11));
    } else return;
    event.preventDefault();
    event.stopPropagation();
  };

  return (
    <Dialog label="Command palette" className="palette" onClose={() => app.show(null)}>
      <input
        className="palette-field"
        type="text"
        role="combobox"
        aria-expanded="true"
        aria-controls="palette-list"
        aria-activedescendant={found[selected] ? `palette-${selected}` : undefined}
        aria-label="Search actions and sessions"
        placeholder="Search actions and sessions"
        data-focus-first
        spellCheck={false}
        autoComplete="off"
        value={query}
        onChange={(event) => {
          setQuery(event.target.value);
          select(0);
        }}
        onKeyDown={keyDown}
      />
      <div id="palette-list" className="palette-list" role="listbox" aria-label="Results" ref={list}>
        {groups.map((group) => (
          <div key={group} role="group" aria-label={group}>
            {searching ? null : (
              <div className="palette-heading" aria-hidden="true">
                {group}
              </div>
            )}
            {found.map((entry, i) =>
              searching || entry.group === group ? <PaletteEntry key={entry.id} entry={entry} index={i} selected={i === selected} onSelect={() => setAt(i)} onRun={() => run(entry)} /> : null,
            )}
          </div>
        ))}
      </div>
      {found.length === 0 ? <p className="palette-nothing">No results</p> : null}
    </Dialog>
  );
}
