/** What the page relies on, whichever transport carries it. Each is tested with the host's end in the test's hands. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { ServerMessage } from '../protocol/terminal';
import { DataChannelTransport } from '../tunnel/datachannel';
import { FakeChannel } from '../tunnel/fake-channel';
import { controlFrame, dataFrame, readFrame } from '../tunnel/frame';
import { FakeSocket, stubBrowser } from './fake-socket';
import type { ChannelHandlers, Transport } from './transport';
import { WebSocketTransport } from './websocket';

interface HostTerminal {
  request: { session: string; pty: number; resume: number | null; watch: boolean };
  attach(offset: number, cols: number, rows: number): void;
  refuse(): void;
  output(bytes: Uint8Array): void;
  event(message: ServerMessage): void;
  lose(): void;
  /** What the page typed, and the sizes that it reported. */
  input(): number[];
  sizes(): [number, number][];
  closed(): boolean;
}

interface Host {
  transport: Transport;
  openControl(): void;
  control: { received(): string[]; send(text: string): void };
  /** The terminals that the page asks for, in this order. */
  terminals(): HostTerminal[];
  /** The daemon dies, or the tunnel ends. */
  vanish(): void;
}

// ---- WebSocket ----

function webSocketHost(): Host {
  stubBrowser();
  vi.stubGlobal('fetch', async () => ({ status: 403 }));
  const control = () => FakeSocket.all.find(({ url }) => url.pathname === '/api/control') as FakeSocket;
  return {
    transport: new WebSocketTransport(),
    openControl: () => control().open(),
    control: { received: () => control().sent as string[], send: (data) => control().onmessage?.({ data }) },
    terminals: () => FakeSocket.all.filter(({ url }) => url.pathname === '/ws').map(socketTerminal),
    vanish: () => FakeSocket.all.forEach((socket) => socket.lose()),
  };
}

function socketTerminal(socket: FakeSocket): HostTerminal {
  const query = socket.url.searchParams;
  const event = (message: ServerMessage) => socket.onmessage?.({ data: JSON.stringify(message) });
  const sent = (kind: 'string' | 'object') => socket.sent.filter((message) => typeof message === kind);
  return {
    request: { session: query.get('session') ?? '', pty: Number(query.get('pty')), resume: query.has('resume') ? Number(query.get('resume')) : null, watch: query.get('watch') === '1' },
    attach: (offset, cols, rows) => {
      socket.open();
      event({ type: 'attached', offset, cols, rows });
    },
    refuse: () => socket.lose(),
    output: (bytes) => socket.onmessage?.({ data: bytes.slice().buffer }),
    event,
    lose: () => socket.lose(),
    input: () => (sent('object') as Uint8Array[]).flatMap((bytes) => [...bytes]),
    sizes: () => (sent('string') as string[]).map((text) => JSON.parse(text) as { cols: number; rows: number }).map(({ cols, rows }) => [cols, rows]),
    closed: () => socket.wasClosed,
  };
}

// ---- DataChannel ----

/** The events of stream mode that stand for the messages of a WebSocket. */
const EVENTS: { [Type in ServerMessage['type']]: string } = { attached: '', repaint: 'repaint', resized: 'resized', lagged: 'lagged', notice: 'notice', exited: 'pty_exited' };

interface Attach {
  id: string;
  session: string;
  pty: number;
  resume?: number;
  watch: boolean;
}

function dataChannelHost(): Host {
  const control = new FakeChannel('coop-control');
  const transport = new DataChannelTransport(control.asChannel, 'machine');
  const isAttach = (text: unknown) => typeof text === 'string' && text.includes('"cmd":"attach"');
  const channels = new Map<unknown, FakeChannel>();
  return {
    transport,
    openControl: () => {},
    control: { received: () => (control.sent as string[]).filter((text) => !isAttach(text)), send: (text) => control.deliver(text) },
    terminals: () => control.sent.filter(isAttach).map((text) => channelTerminal(transport, control, channels, JSON.parse(text as string) as Attach)),
    vanish: () => transport.end(),
  };
}

function channelTerminal(transport: DataChannelTransport, control: FakeChannel, channels: Map<unknown, FakeChannel>, attach: Attach): HostTerminal {
  const { id, session, pty, resume, watch } = attach;
  const channel = () => channels.get(id) as FakeChannel;
  const frames = () => channel().sent.map((message) => readFrame((message as Uint8Array).slice().buffer));
  const controls = () => frames().flatMap((frame) => (frame?.kind === 'control' ? [JSON.parse(frame.text) as { cmd: string; cols: number; rows: number }] : []));
  return {
    request: { session, pty, resume: resume ?? null, watch },
    attach: (offset, cols, rows) => {
      control.deliver(JSON.stringify({ id, ok: true, pty, offset, cols, rows }));
      channels.set(id, new FakeChannel(`coop-pty-${session}-${pty}`));
      transport.accept(channel().asChannel);
    },
    refuse: () => control.deliver(JSON.stringify({ id, ok: false, error: 'SESSION_NOT_FOUND', message: 'no such session' })),
    output: (bytes) => channel().deliver(dataFrame(bytes)),
    event: ({ type, ...fields }) => channel().deliver(controlFrame({ event: EVENTS[type], ...fields })),
    lose: () => channel().lose(),
    input: () => frames().flatMap((frame) => (frame?.kind === 'data' ? [...frame.bytes] : [])),
    sizes: () => controls().filter(({ cmd }) => cmd === 'resize').map(({ cols, rows }) => [cols, rows]),
    closed: () => channel().readyState === 'closed',
  };
}

// ---- the contract ----

class Log implements ChannelHandlers {
  readonly entries: string[] = [];
  bytes: number[] = [];
  open = () => void this.entries.push('open');
  text = (message: string) => void this.entries.push(message);
  binary = (message: Uint8Array, handled: () => void) => {
    this.entries.push(`${message.length} bytes`);
    this.bytes.push(...message);
    handled();
  };
  closed = () => void this.entries.push('closed');
}

const settle = () => new Promise((resolve) => setTimeout(resolve));
const REQUEST = { kind: 'terminal', session: 'api', pty: 0, resume: null, watch: false } as const;

describe.each([
  ['WebSocket', webSocketHost],
  ['DataChannel', dataChannelHost],
])('a transport by %s', (_, makeHost) => {
  let host: Host;
  let log: Log;
  beforeEach(() => {
    host = makeHost();
    log = new Log();
  });
  afterEach(() => vi.unstubAllGlobals());

  const opened = async () => {
    const channel = host.transport.open(REQUEST, log);
    await settle();
    const terminal = host.terminals()[0] as HostTerminal;
    terminal.attach(7, 80, 24);
    await settle();
    return { channel, terminal };
  };

  it('carries requests and replies', async () => {
    const channel = host.transport.open({ kind: 'control' }, log);
    expect(log.entries).toEqual([]);
    host.openControl();
    await settle();
    channel.sendText('{"id":1,"cmd":"ls"}');
    expect(host.control.received()).toEqual(['{"id":1,"cmd":"ls"}']);
    host.control.send('{"id":1,"ok":true,"sessions":[]}');
    expect(log.entries).toEqual(['open', '{"id":1,"ok":true,"sessions":[]}']);
  });

  it('asks for the terminal that the page names', async () => {
    host.transport.open({ kind: 'terminal', session: 'a b&"c', pty: 2, resume: 77, watch: true }, log);
    host.transport.open(REQUEST, log);
    await settle();
    expect(host.terminals().map(({ request }) => request)).toEqual([
      { session: 'a b&"c', pty: 2, resume: 77, watch: true },
      { session: 'api', pty: 0, resume: null, watch: false },
    ]);
  });

  it('delivers output and messages in their order', async () => {
    const { terminal } = await opened();
    const messages: ServerMessage[] = [
      { type: 'repaint', offset: 9, bytes: 2 },
      { type: 'resized', cols: 90, rows: 30 },
      { type: 'lagged', offset: 50, dropped: 3 },
      { type: 'notice', text: 'Ctrl+D was withheld.' },
      { type: 'exited', code: 3 },
    ];
    for (const message of messages) {
      terminal.event(message);
      terminal.output(Uint8Array.of(1, 2));
    }
    const attached: ServerMessage = { type: 'attached', offset: 7, cols: 80, rows: 24 };
    expect(log.entries).toEqual(['open', JSON.stringify(attached), ...messages.flatMap((message) => [JSON.stringify(message), '2 bytes'])]);
  });

  it('delivers what is typed, all of it, and sizes', async () => {
    const { channel, terminal } = await opened();
    const paste = Uint8Array.from({ length: 200_000 }, (__, at) => at % 251);
    channel.sendBinary(Uint8Array.of(3));
    channel.sendBinary(paste);
    channel.sendText(JSON.stringify({ type: 'resize', cols: 100, rows: 40 }));
    await settle();
    expect(terminal.input()).toEqual([3, ...paste]);
    expect(terminal.sizes()).toEqual([[100, 40]]);
  });

  it('calls no handler after the page has closed a channel', async () => {
    const { channel, terminal } = await opened();
    const before = log.entries.length;
    channel.close();
    expect(terminal.closed()).toBe(true);
    terminal.output(Uint8Array.of(1));
    terminal.lose();
    await settle();
    expect(log.entries).toHaveLength(before);
  });

  it('reports a lost terminal once, and only that one', async () => {
    const control = new Log();
    host.transport.open({ kind: 'control' }, control);
    const { channel, terminal } = await opened();
    terminal.lose();
    channel.sendBinary(Uint8Array.of(1));
    await settle();
    expect(log.entries.filter((entry) => entry === 'closed')).toHaveLength(1);
    expect(control.entries).not.toContain('closed');
  });

  it('reports a terminal that there is none of', async () => {
    host.transport.open(REQUEST, log);
    await settle();
    host.terminals()[0]?.refuse();
    await settle();
    expect(log.entries).toEqual(['closed']);
  });

  it('reports the end of everything to every channel, once', async () => {
    const control = new Log();
    host.transport.open({ kind: 'control' }, control);
    host.openControl();
    await opened();
    host.vanish();
    await settle();
    for (const { entries } of [control, log]) expect(entries.filter((entry) => entry === 'closed')).toHaveLength(1);
    expect(await host.transport.probe()).toBe('signed-out');
  });
});
