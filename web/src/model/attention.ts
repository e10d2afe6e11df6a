import type { SessionItem } from '../protocol/control';
import { needsAttention, STATE_LABELS, stateOf } from './sessions';

const ICON_SIZE = 64;

/** The icon of the tab: a prompt, and the number of sessions that ask on a dot. */
function drawIcon(count: number): string | null {
  const canvas = document.createElement('canvas');
  canvas.width = ICON_SIZE;
  canvas.height = ICON_SIZE;
  const context = canvas.getContext('2d');
  if (!context) return null;
  context.fillStyle = '#1b1e25';
  context.beginPath();
  context.roundRect(0, 0, ICON_SIZE, ICON_SIZE, 14);
  context.fill();
  context.lineWidth = 6;
  context.lineCap = 'round';
  context.lineJoin = 'round';
  context.strokeStyle = '#7aa2ff';
  context.beginPath();
  context.moveTo(17, 20);
  context.lineTo(29, 32);
  context.lineTo(17, 44);
  context.stroke();
  context.strokeStyle = '#e8eaee';
  context.beginPath();
  context.moveTo(34, 44);
  context.lineTo(47, 44);
  context.stroke();
  if (count > 0) {
    context.fillStyle = '#e9a23b';
    context.beginPath();
    context.arc(44, 20, 19, 0, 2 * Math.PI);
    context.fill();
    context.fillStyle = '#1b1e25';
    context.font = 'bold 28px system-ui, sans-serif';
    context.textAlign = 'center';
    context.textBaseline = 'middle';
    context.fillText(count > 9 ? '9+' : String(count), 44, 21);
  }
  return canvas.toDataURL('image/png');
}

/** Shows in the tab's title and icon how many sessions wait for a person. */
export class TabIndicator {
  private readonly link = document.querySelector<HTMLLinkElement>('link[rel="icon"]');
  /** The icon of the document; drawing the same would delay the first paint. */
  private readonly plain = this.link?.href ?? null;
  private shown = '0';

  update(count: number, place: string): void {
    const title = `${count > 0 ? `(${count}) ` : ''}${place}`;
    if (document.title !== title) document.title = title;
    const key = String(Math.min(count, 10));
    if (key === this.shown) return;
    this.shown = key;
    const icon = count === 0 ? this.plain : drawIcon(count);
    if (icon && this.link) this.link.href = icon;
  }
}

/** The sessions that wait for a person now and did not in the previous list. */
export function newlyWaiting(before: readonly SessionItem[] | null, now: readonly SessionItem[]): SessionItem[] {
  if (!before) return [];
  const waited = new Set(before.filter(needsAttention).map((session) => session.name));
  return now.filter((session) => needsAttention(session) && !waited.has(session.name));
}

export function notifyAbout(session: SessionItem, open: () => void): void {
  try {
    const notification = new Notification(session.name, {
      body: `${STATE_LABELS[stateOf(session)]} in ${session.workspace}`,
      tag: `switchboard-${session.name}`,
      icon: '/icon-192.png',
    });
    notification.onclick = () => {
      window.focus();
      open();
      notification.close();
    };
  } catch {
    // Phones allow notifications only from service workers; the title and the icon still show the number.
  }
}
