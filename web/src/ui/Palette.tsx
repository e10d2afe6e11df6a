import { type KeyboardEvent, useMemo, useRef, useState } from 'react';
import { type Action, paletteEntries, runAction } from '../actions/actions';
import { score } from '../actions/fuzzy';
import { useApp } from './context';
import { Dialog, Keys } from './controls';

const SHOWN = 40;

function search(entries: readonly Action[], query: string): Action[] {
  if (query.trim() === '') return entries.slice(0, SHOWN);
  return entries
    .flatMap((entry) => {
      const value = score(query, entry.title);
      return value === null ? [] : [{ entry, value }];
    })
    .sort((a, b) => b.value - a.value)
    .slice(0, SHOWN)
    .map(({ entry }) => entry);
}

export function Palette() {
  const app = useApp();
  const [query, setQuery] = useState('');
  const [at, setAt] = useState(0);
  const list = useRef<HTMLUListElement>(null);
  const entries = useMemo(() => paletteEntries(app), [app]);
  const found = useMemo(() => search(entries, query), [entries, query]);
  const selected = Math.min(at, found.length - 1);

  const run = (action: Action) => {
    app.show(null);
    runAction(app, action);
  };
  const select = (index: number) => {
    setAt(index);
    list.current?.children[index]?.scrollIntoView({ block: 'nearest' });
  };
  const keyDown = (event: KeyboardEvent) => {
    const action = found[selected];
    if (event.key === 'ArrowDown') select((selected + 1) % Math.max(1, found.length));
    else if (event.key === 'ArrowUp') select((selected - 1 + found.length) % Math.max(1, found.length));
    else if (event.key === 'Enter' && action) run(action);
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
          setAt(0);
        }}
        onKeyDown={keyDown}
      />
      <ul id="palette-list" className="palette-list" role="listbox" aria-label="Results" ref={list}>
        {found.map((action, i) => (
          <li key={action.id} id={`palette-${i}`} className="palette-item" role="option" aria-selected={i === selected} onPointerMove={() => setAt(i)} onClick={() => run(action)}>
            <span className="palette-group">{action.group}</span>
            <span className="palette-title">{action.title}</span>
            {action.keys ? <Keys keys={action.keys} /> : null}
          </li>
        ))}
      </ul>
      {found.length === 0 ? <p className="palette-nothing">Nothing is called that</p> : null}
    </Dialog>
  );
}
