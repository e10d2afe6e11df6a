import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { FakeSocket, stubBrowser } from './fake-socket';
import type { ChannelHandlers } from './transport';
import { WebSocketTransport } from './websocket';

const TERMINAL = { kind: 'terminal', session: 'api', pty: 0, resume: null, watch: false } as const;

let events: EventTarget;
let closed: string[];
let control: FakeSocket;
let terminal: FakeSocket;

beforeEach(() => {
  vi.useFakeTimers();
  events = stubBrowser();
  closed = [];
  const handlers = (name: string): ChannelHandlers => ({ open: () => {}, text: () => {}, binary: () => {}, closed: (stopped) => void closed.push(stopped ? `${name} stopped` : name) });
  const transport = new WebSocketTransport();
  transport.open({ kind: 'control' }, handlers('control'));
  transport.open(TERMINAL, handlers('terminal'));
  [control, terminal] = FakeSocket.all as [FakeSocket, FakeSocket];
  control.open();
  terminal.open();
});

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

const reply = () => control.onmessage?.({ data: '{"id":"sign-of-life","ok":true}' });

it('asks for a sign of life when nothing arrives, and goes on when there is one', () => {
  vi.advanceTimersByTime(19_000);
  expect(control.sent).toEqual([]);
  vi.advanceTimersByTime(1000);
  expect(control.sent).toEqual(['{"id":"sign-of-life","cmd":"whoami"}']);
  reply();
  vi.advanceTimersByTime(19_000);
  expect(control.sent).toHaveLength(1);
  expect(closed).toEqual([]);
});

it('loses every channel when there is none, each once', () => {
  vi.advanceTimersByTime(36_000);
  expect(closed).toEqual(['control', 'terminal']);
  expect([control.wasClosed, terminal.wasClosed]).toEqual([true, true]);
  terminal.lose();
  vi.advanceTimersByTime(60_000);
  expect(closed).toHaveLength(2);
});

it('asks at once when the device is back in its network', () => {
  events.dispatchEvent(new Event('online'));
  expect(control.sent).toHaveLength(1);
  vi.advanceTimersByTime(16_000);
  expect(closed).toEqual(['control', 'terminal']);
});

it('loses the other channels when the control channel breaks', () => {
  control.lose();
  expect(closed).toEqual(['control', 'terminal']);
});

it('leaves the others alone after a goodbye', () => {
  control.lose(1013);
  vi.advanceTimersByTime(60_000);
  expect(closed).toEqual(['control']);
  expect(control.sent).toEqual([]);
});

it('stops to watch a channel that the page has closed', () => {
  const other = new WebSocketTransport().open({ kind: 'control' }, { open: () => {}, text: () => {}, binary: () => {}, closed: () => void closed.push('other') });
  FakeSocket.all.at(-1)?.open();
  other.close();
  vi.advanceTimersByTime(19_000);
  events.dispatchEvent(new Event('online'));
  expect(FakeSocket.all.at(-1)?.sent).toEqual([]);
});
