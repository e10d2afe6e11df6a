import { vi } from 'vitest';

/** A WebSocket whose server is the test. */
export class FakeSocket {
  static readonly OPEN = 1;
  static all: FakeSocket[] = [];
  readyState = 0;
  binaryType = 'blob';
  onopen: (() => void) | null = null;
  onmessage: ((event: { data: unknown }) => void) | null = null;
  onclose: ((event: CloseEvent) => void) | null = null;
  readonly sent: (string | Uint8Array)[] = [];
  readonly url: URL;
  wasClosed = false;

  constructor(url: URL) {
    this.url = url;
    FakeSocket.all.push(this);
  }

  send(message: string | Uint8Array): void {
    this.sent.push(message);
  }

  close(): void {
    this.wasClosed = true;
    this.readyState = 3;
  }

  open(): void {
    this.readyState = 1;
    this.onopen?.();
  }

  /** Ends without a goodbye, or with one. */
  lose(code = 1006): void {
    this.readyState = 3;
    this.onclose?.({ code } as CloseEvent);
  }
}

/** What a transport by WebSocket needs of a browser; returns its events. */
export function stubBrowser(): EventTarget {
  FakeSocket.all = [];
  const events = new EventTarget();
  const listening = { addEventListener: events.addEventListener.bind(events), removeEventListener: events.removeEventListener.bind(events) };
  vi.stubGlobal('WebSocket', FakeSocket);
  vi.stubGlobal('location', { href: 'http://host:1/' });
  vi.stubGlobal('document', { ...listening, visibilityState: 'visible' });
  vi.stubGlobal('addEventListener', listening.addEventListener);
  vi.stubGlobal('removeEventListener', listening.removeEventListener);
  return events;
}
