import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { ChannelHandlers, ChannelRequest, Transport } from '../transport/transport';
import { EarlyTerminal } from './early-terminal';
import type { TerminalHandlers } from './terminal';

/** A daemon whose channels are driven by the test. */
class Channels implements Transport {
  readonly opened: { request: ChannelRequest; handlers: ChannelHandlers; closed: boolean }[] = [];

  open(request: ChannelRequest, handlers: ChannelHandlers) {
    const channel = { request, handlers, closed: false };
    this.opened.push(channel);
    return { sendText: () => {}, sendBinary: () => {}, close: () => (channel.closed = true) };
  }

  probe() {
    return Promise.resolve('reachable' as const);
  }
}

function recorder(): { log: string[]; handlers: TerminalHandlers } {
  const log: string[] = [];
  return {
    log,
    handlers: {
      output: (bytes, pictureEnds) => log.push(`output ${bytes.length}${pictureEnds ? ' end' : ''}`),
      message: (message) => log.push(message.type),
      state: (state) => log.push(`state ${state}`),
    },
  };
}

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal('addEventListener', () => {});
  vi.stubGlobal('removeEventListener', () => {});
  vi.stubGlobal('document', { addEventListener: () => {}, removeEventListener: () => {} });
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

describe('EarlyTerminal', () => {
  it('passes what came early, and then what follows, in order', () => {
    const channels = new Channels();
    const early = new EarlyTerminal(channels);
    early.attach('api', 0, false);
    const { handlers } = channels.opened[0]!;
    handlers.text('{"type":"attached","offset":7,"cols":80,"rows":24}');
    handlers.text('{"type":"repaint","offset":7,"bytes":3}');
    handlers.binary(new Uint8Array(3), () => {});
    const screen = recorder();
    const { begin } = early.connect('api', 0, false, screen.handlers);
    expect(screen.log).toEqual([]);
    begin();
    handlers.binary(new Uint8Array(5), () => {});
    expect(screen.log).toEqual(['attached', 'state open', 'repaint', 'output 3 end', 'output 5']);
    expect(channels.opened).toHaveLength(1);
  });

  it('gives one connection to one screen', () => {
    const channels = new Channels();
    const early = new EarlyTerminal(channels);
    early.attach('api', 0, false);
    early.connect('api', 0, true, recorder().handlers);
    early.connect('api', 0, false, recorder().handlers);
    early.connect('api', 0, false, recorder().handlers);
    expect(channels.opened.map(({ request }) => request)).toMatchObject([{ watch: false }, { watch: true }, { watch: false }]);
  });

  it('closes a connection that no screen takes in time, or that sends more than can be kept', () => {
    const channels = new Channels();
    const early = new EarlyTerminal(channels);
    early.attach('slow', 0, false);
    vi.advanceTimersByTime(10_000);
    early.attach('flood', 0, false);
    for (let i = 0; i < 5; i += 1) channels.opened[1]?.handlers.binary(new Uint8Array(1 << 20), () => {});
    expect(channels.opened.map(({ closed }) => closed)).toEqual([true, true]);
    early.connect('flood', 0, false, recorder().handlers);
    expect(channels.opened).toHaveLength(3);
  });
});
