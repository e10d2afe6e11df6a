import { type CSSProperties, type KeyboardEvent, type PointerEvent, useMemo, useRef } from 'react';
import { actionById, runAction } from '../actions/actions';
import { type Divider, geometry, type Rect } from '../layout/geometry';
import { focusedLeaf, leaves, setShare } from '../layout/tree';
import { useApp, useAppState } from './context';
import { EmptyState, Keys } from './controls';
import { Pane } from './Pane';

const percent = (share: number) => `${share * 100}%`;

function place(rect: Rect): CSSProperties {
  return { left: percent(rect.left), top: percent(rect.top), width: percent(rect.width), height: percent(rect.height) };
}

const KEY_STEP = 0.02;

function DividerHandle({ divider }: { divider: Divider }) {
  const app = useApp();
  const ref = useRef<HTMLDivElement>(null);
  const { area, direction, share } = divider;
  const row = direction === 'row';
  const set = (value: number) => app.setLayout((layout) => setShare(layout, divider.id, value));

  const drag = (event: PointerEvent<HTMLDivElement>) => {
    const box = ref.current?.parentElement?.getBoundingClientRect();
    if (!box || !event.currentTarget.hasPointerCapture(event.pointerId)) return;
    const at = row ? (event.clientX - box.left) / box.width : (event.clientY - box.top) / box.height;
    set(row ? (at - area.left) / area.width : (at - area.top) / area.height);
  };
  const keyDown = (event: KeyboardEvent<HTMLDivElement>) => {
    const steps: Record<string, number> = row ? { ArrowLeft: -KEY_STEP, ArrowRight: KEY_STEP } : { ArrowUp: -KEY_STEP, ArrowDown: KEY_STEP };
    const step = steps[event.key];
    if (step === undefined) return;
    event.preventDefault();
    set(share + step);
  };

  const style: CSSProperties = row
    ? { left: percent(area.left + area.width * share), top: percent(area.top), height: percent(area.height) }
    : { top: percent(area.top + area.height * share), left: percent(area.left), width: percent(area.width) };
  return (
    <div
      ref={ref}
      className={`divider divider-${direction}`}
      style={style}
      role="separator"
      tabIndex={0}
      aria-label="Size of the panes"
      aria-orientation={row ? 'vertical' : 'horizontal'}
      aria-valuenow={Math.round(share * 100)}
      aria-valuemin={10}
      aria-valuemax={90}
      onPointerDown={(event) => event.currentTarget.setPointerCapture(event.pointerId)}
      onPointerMove={drag}
      onDoubleClick={() => set(0.5)}
      onKeyDown={keyDown}
    />
  );
}

function Nothing() {
  const app = useApp();
  const sessions = useAppState((state) => state.sessions);
  const phone = useAppState((state) => state.phone);
  if (!sessions) return <div className="panes" aria-busy="true" />;
  const drives = app.may('drive');
  return (
    <div className="panes">
      {sessions.length > 0 ? (
        <EmptyState title="Choose a session">
          <p>{phone ? 'The list is behind the button at the top left.' : <>Choose one from the list, or press <Keys keys="Ctrl+K" />.</>}</p>
        </EmptyState>
      ) : (
        <EmptyState title={drives ? 'Start an agent' : 'Nothing here yet'}>
          <p>{drives ? <>Create a session here, or with <code>swb run claude</code> in a terminal on this machine.</> : 'A session appears here as soon as it is started.'}</p>
          {drives ? (
            <button type="button" className="button button-primary" onClick={() => runAction(app, actionById('new-session'))}>
              New session
            </button>
          ) : null}
        </EmptyState>
      )}
    </div>
  );
}

/** The panes side by side; on a phone only the focused one. */
export function Panes() {
  const layout = useAppState((state) => state.layout);
  const phone = useAppState((state) => state.phone);
  const focus = focusedLeaf(layout);
  const { panes, dividers } = useMemo(
    () => geometry(phone && focus ? { ...layout, zoomed: focus.id } : layout),
    [layout, phone, focus],
  );
  const all = leaves(layout.root);
  if (all.length === 0) return <Nothing />;
  return (
    <div className="panes">
      {all.map((leaf, i) => {
        const rect = panes.get(leaf.id);
        // A zoomed pane covers the others; they are left out, as a hidden terminal has no size.
        if (!rect) return null;
        return (
          <div key={leaf.id} className="pane-place" style={place(rect)}>
            <Pane leaf={leaf} focused={leaf.id === focus?.id} alone={all.length === 1} label={all.some((other) => other !== leaf && other.session === leaf.session) ? `${leaf.session}, pane ${i + 1}` : leaf.session} />
          </div>
        );
      })}
      {dividers.map((divider) => (
        <DividerHandle key={divider.id} divider={divider} />
      ))}
    </div>
  );
}
