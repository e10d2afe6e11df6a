import { describe, expect, it } from 'vitest';
import { watchSize } from './size';
import { WriteQueue } from './write-queue';

describe('WriteQueue', () => {
  it('hands over no more than the terminal can take, and drops nothing', () => {
    const waiting: (() => void)[] = [];
    let written = 0;
    let inFlight = 0;
    let most = 0;
    const queue = new WriteQueue((bytes, parsed) => {
      written += bytes.length;
      inFlight += bytes.length;
      most = Math.max(most, inFlight);
      waiting.push(() => {
        inFlight -= bytes.length;
        parsed();
      });
    });
    for (let i = 0; i < 100; i += 1) queue.push(new Uint8Array(100_000));
    while (waiting.length > 0) waiting.shift()?.();
    expect(written).toBe(10_000_000);
    expect(most).toBeLessThanOrEqual(256 * 1024 + 32 * 1024);
  });

  it('holds back what follows until it is ready', async () => {
    const log: string[] = [];
    const queue = new WriteQueue((bytes, parsed) => {
      log.push(`write ${bytes.length}`);
      parsed();
    });
    let ready = () => {};
    queue.push(new Uint8Array(1));
    queue.wait(new Promise((resolve) => (ready = resolve)));
    queue.push(new Uint8Array(2));
    queue.then(() => log.push('run'));
    expect(log).toEqual(['write 1']);
    ready();
    await Promise.resolve();
    await Promise.resolve();
    expect(log).toEqual(['write 1', 'write 2', 'run']);
  });

  it('runs functions in order, after earlier bytes were parsed', () => {
    const waiting: (() => void)[] = [];
    const log: string[] = [];
    const queue = new WriteQueue((bytes, parsed) => {
      log.push(`write ${bytes.length}`);
      waiting.push(parsed);
    });
    queue.push(new Uint8Array(3));
    queue.then(() => log.push('run'));
    queue.push(new Uint8Array(4));
    expect(log).toEqual(['write 3']);
    waiting.shift()?.();
    expect(log).toEqual(['write 3', 'run', 'write 4']);
  });

  it('reports bytes as parsed after the last of their pieces', () => {
    const waiting: (() => void)[] = [];
    let parsed = 0;
    const queue = new WriteQueue((_, done) => waiting.push(done));
    queue.push(new Uint8Array(70_000), () => (parsed += 1));
    expect(waiting).toHaveLength(3);
    waiting.shift()?.();
    waiting.shift()?.();
    expect(parsed).toBe(0);
    waiting.shift()?.();
    expect(parsed).toBe(1);
  });

  it('writes nothing after its end', () => {
    let writes = 0;
    const queue = new WriteQueue(() => (writes += 1));
    queue.dispose();
    queue.push(new Uint8Array(3));
    expect(writes).toBe(0);
  });
});

describe('watchSize', () => {
  it('is that of the PTY if there is room for it', () => {
    expect(watchSize({ cols: 100, rows: 40 }, { cols: 80, rows: 24 })).toEqual({ cols: 80, rows: 24 });
    expect(watchSize({ cols: 50, rows: 40 }, { cols: 80, rows: 24 })).toEqual({ cols: 50, rows: 40 });
    expect(watchSize({ cols: 50, rows: 40 }, null)).toEqual({ cols: 50, rows: 40 });
  });
});
