import { beforeEach, describe, expect, it } from 'vitest';
import type { ChannelHandlers } from '../transport/transport';
import { DataChannelTransport } from './datachannel';
import { FakeChannel } from './fake-channel';
import { controlFrame, dataFrame, readFrame } from './frame';

const REQUEST = { kind: 'terminal', session: 'api', pty: 0, resume: null, watch: false } as const;
const LABEL = 'coop-pty-api-0';

function listener() {
  const log: string[] = [];
  const handled: (() => void)[] = [];
  const handlers: ChannelHandlers = {
    open: () => log.push('open'),
    text: (message) => log.push(message),
    binary: (message, done) => {
      log.push(new TextDecoder().decode(message));
      handled.push(done);
    },
    closed: () => log.push('closed'),
  };
  return { log, handled, handlers };
}

describe('DataChannelTransport', () => {
  let control: FakeChannel;
  let transport: DataChannelTransport;
  beforeEach(() => {
    control = new FakeChannel('coop-control');
    transport = new DataChannelTransport(control.asChannel, 'machine');
  });

  const attaches = () => control.sent.map((text) => JSON.parse(text as string) as { id: string; cmd: string });
  const reply = (at: number, offset = 0) => control.deliver(JSON.stringify({ id: attaches()[at]?.id, ok: true, offset, cols: 80, rows: 24 }));
  const bring = (label = LABEL, open = true) => {
    const channel = new FakeChannel(label, open);
    transport.accept(channel.asChannel);
    return channel;
  };
  const controls = (channel: FakeChannel) =>
    channel.sent.flatMap((message) => {
      const frame = readFrame((message as Uint8Array).slice().buffer);
      return frame?.kind === 'control' ? [JSON.parse(frame.text) as object] : [];
    });

  it('keeps the reason that the host gives for the end', () => {
    const { log, handlers } = listener();
    transport.open({ kind: 'control' }, handlers);
    control.deliver('{"event":"closed","reason":"revoked"}');
    expect(transport.reason).toBe('revoked');
    expect(log).toEqual([]);
  });

  it('attaches as the WebSocket does', () => {
    transport.open(REQUEST, listener().handlers);
    transport.open({ ...REQUEST, session: 'web', resume: 9, watch: true }, listener().handlers);
    expect(attaches()).toMatchObject([
      { cmd: 'attach', session: 'api', pty: 0, cols: 0, rows: 0, watch: false, repaint: true, sizes: true, offsets: true },
      { cmd: 'attach', session: 'web', pty: 0, cols: 0, rows: 0, watch: true, repaint: true, sizes: false, offsets: true, resume: 9 },
    ]);
  });

  it.each(['reply first', 'channel first', 'channel opens last'])('begins when reply and channel are there: %s', (order) => {
    const { log, handlers } = listener();
    transport.open(REQUEST, handlers);
    if (order === 'reply first') reply(0);
    const channel = bring(LABEL, order !== 'channel opens last');
    if (order === 'channel first') channel.deliver(dataFrame(new TextEncoder().encode('early')));
    if (order !== 'reply first') {
      expect(log).toEqual([]);
      reply(0);
    }
    if (order === 'channel opens last') {
      expect(log).toEqual([]);
      channel.open();
    }
    expect(log).toEqual(['open', '{"type":"attached","offset":0,"cols":80,"rows":24}', ...(order === 'channel first' ? ['early'] : [])]);
  });

  it('opens terminals with the same label one after the other', () => {
    const [first, second] = [listener(), listener()];
    transport.open(REQUEST, first.handlers);
    transport.open(REQUEST, second.handlers);
    expect(attaches()).toHaveLength(1);
    reply(0, 1);
    expect(attaches()).toHaveLength(1);
    bring();
    expect(attaches()).toHaveLength(2);
    bring().deliver(dataFrame(new TextEncoder().encode('second')));
    reply(1, 2);
    expect(first.log[1]).toContain('"offset":1');
    expect(second.log.slice(1)).toEqual(['{"type":"attached","offset":2,"cols":80,"rows":24}', 'second']);
  });

  it('closes a terminal that was closed before it was open, and opens the next one', () => {
    const [first, second] = [listener(), listener()];
    transport.open(REQUEST, first.handlers).close();
    transport.open(REQUEST, second.handlers);
    reply(0);
    const abandoned = bring();
    expect(abandoned.readyState).toBe('closed');
    reply(1);
    bring();
    expect(first.log).toEqual([]);
    expect(second.log[0]).toBe('open');
  });

  it('goes on with the next terminal after one that there is none of', () => {
    const [first, second] = [listener(), listener()];
    transport.open(REQUEST, first.handlers);
    transport.open(REQUEST, second.handlers);
    control.deliver(JSON.stringify({ id: attaches()[0]?.id, ok: false, error: 'LIMIT_REACHED', message: '32 terminals' }));
    expect(first.log).toEqual(['closed']);
    expect(attaches()).toHaveLength(2);
  });

  it('acknowledges output when it was parsed, not when it arrived', () => {
    const { handled, handlers } = listener();
    transport.open(REQUEST, handlers);
    reply(0);
    const channel = bring();
    for (let sent = 0; sent < 4; sent += 1) channel.deliver(dataFrame(new Uint8Array(50_000)));
    expect(controls(channel)).toEqual([]);
    handled[0]?.();
    expect(controls(channel)).toEqual([]);
    handled[1]?.();
    expect(controls(channel)).toEqual([{ cmd: 'ack', bytes: 100_000 }]);
    handled[2]?.();
    handled[3]?.();
    expect(controls(channel).at(-1)).toEqual({ cmd: 'ack', bytes: 200_000 });
  });

  it('holds input back while the channel is full', () => {
    const terminal = transport.open(REQUEST, listener().handlers);
    reply(0);
    const channel = bring();
    channel.bufferedAmount = 2 ** 21;
    terminal.sendBinary(new Uint8Array(200_000));
    expect(channel.sent).toHaveLength(0);
    channel.bufferedAmount = 0;
    channel.onbufferedamountlow?.();
    expect(channel.sent.map(({ length }) => length)).toEqual([61_445, 61_445, 61_445, 15_685]);
  });

  it('ends a terminal whose host sends something that is no frame', () => {
    const { log, handlers } = listener();
    transport.open(REQUEST, handlers);
    reply(0);
    const channel = bring();
    channel.deliver(Uint8Array.of(0, 0, 0, 9, 0));
    expect(log.at(-1)).toBe('closed');
    expect(channel.readyState).toBe('closed');
  });

  it('shows refusals as notices, and ignores what it does not know', () => {
    const { log, handlers } = listener();
    transport.open(REQUEST, handlers);
    reply(0);
    const channel = bring();
    channel.deliver(controlFrame({ ok: false, error: 'FORBIDDEN', message: 'typing needs the role drive' }));
    channel.deliver(controlFrame({ event: 'of a later version' }));
    channel.deliver(controlFrame({ ok: true }));
    channel.deliver(controlFrame({ event: 'pty_restarting', delay_ms: 1500 }));
    expect(log.slice(2)).toEqual(['{"type":"notice","text":"typing needs the role drive"}', '{"type":"notice","text":"The command has ended and restarts in 2 s."}']);
  });

  it('closes channels that nothing was asked for', () => {
    expect(bring('coop-pty-other-0').readyState).toBe('closed');
  });

  it('answers a request that is too long for the tunnel itself', async () => {
    const { log, handlers } = listener();
    const channel = transport.open({ kind: 'control' }, handlers);
    channel.sendText(JSON.stringify({ id: 5, cmd: 'send', text: 'ü'.repeat(40_000) }));
    await Promise.resolve();
    expect(control.sent).toEqual([]);
    expect(JSON.parse(log.at(-1) ?? '')).toMatchObject({ id: 5, ok: false, error: 'MESSAGE_TOO_LARGE' });
  });

  it('carries no conversations', async () => {
    const { log, handlers } = listener();
    transport.open({ kind: 'chat' }, handlers);
    await new Promise((resolve) => setTimeout(resolve));
    expect(log).toEqual(['closed']);
  });
});
