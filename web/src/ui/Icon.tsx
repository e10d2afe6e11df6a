/** Strokes on a 16×16 grid. */
const PATHS = {
  plus: 'M8 3v10M3 8h10',
  close: 'M4 4l8 8M12 4l-8 8',
  search: 'M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10zM10.7 10.7L14 14',
  menu: 'M2.5 4.5h11M2.5 8h11M2.5 11.5h11',
  more: 'M3.5 7.7v.6M8 7.7v.6M12.5 7.7v.6',
  splitRight: 'M2.5 3.5h11v9h-11zM8 3.5v9',
  splitDown: 'M2.5 3.5h11v9h-11zM2.5 8h11',
  zoom: 'M9.5 3H13v3.5M6.5 13H3V9.5M13 3L9 7M3 13l4-4',
  inbox: 'M2.5 9.5l2-6h7l2 6v3h-11zM2.5 9.5H6l.8 1.5h2.4l.8-1.5h3.5',
  bell: 'M4 11V7a4 4 0 0 1 8 0v4l1 1.5H3zM6.8 14.5h2.4',
  keyboard: 'M1.5 4.5h13v7h-13zM4 7h.01M6.7 7h.01M9.3 7h.01M12 7h.01M5.5 9.5h5',
  copy: 'M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3',
  relay: 'M2.5 8h10M9 4.5L12.5 8 9 11.5',
  send: 'M8 13V3M4 7l4-4 4 4',
  stop: 'M4.5 4.5h7v7h-7z',
  chevron: 'M6 4l4 4-4 4',
  up: 'M4 10l4-4 4 4',
  down: 'M4 6l4 4 4-4',
  eye: 'M1.5 8S4 3.5 8 3.5 14.5 8 14.5 8 12 12.5 8 12.5 1.5 8 1.5 8zM8 9.8a1.8 1.8 0 1 0 0-3.6 1.8 1.8 0 0 0 0 3.6z',
  people: 'M6 8a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5zM1.5 13a4.5 4.5 0 0 1 9 0M11 3.3a2.5 2.5 0 0 1 0 4.5M12.5 9.5a4.5 4.5 0 0 1 2 3.5',
  check: 'M3 8.5l3.5 3.5L13 4.5',
  signOut: 'M9.5 3h-6v10h6M7 8h7M11.5 5.5L14 8l-2.5 2.5',
  sidebar: 'M2.5 3.5h11v9h-11zM6 3.5v9',
} as const;

export type IconName = keyof typeof PATHS;

/** Decoration only: the control that holds it has the accessible name. */
export function Icon({ name }: { name: IconName }) {
  return (
    <svg className={`icon icon-${name}`} viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} />
    </svg>
  );
}
