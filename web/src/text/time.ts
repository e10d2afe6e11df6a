/** How long ago, in one unit: 5s, 12m, 3h, 9d. */
export function shortAge(from: number, now: number): string {
  const seconds = Math.max(0, Math.floor((now - from) / 1000));
  if (seconds < 60) return `${seconds}s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)}m`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)}h`;
  return `${Math.floor(seconds / 86_400)}d`;
}

const TIME = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' });
const DATE = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit' });

/** The time of day, with the date unless it is today. */
export function clock(at: number, now: number): string {
  const same = new Date(at).toDateString() === new Date(now).toDateString();
  return (same ? TIME : DATE).format(at);
}
