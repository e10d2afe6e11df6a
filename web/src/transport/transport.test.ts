import { describe, expect, it } from 'vitest';
import { readServerMessage } from '../protocol/terminal';
import { backoffDelay } from './backoff';
import { channelPath } from './websocket';

describe('channelPath', () => {
  it('names session, terminal and where to resume', () => {
    expect(channelPath({ kind: 'terminal', session: 'a b&c', pty: 2, resume: 77, watch: true })).toBe('/ws?session=a+b%26c&pty=2&repaint=1&resume=77&watch=1');
    expect(channelPath({ kind: 'terminal', session: 'a', pty: 0, resume: null, watch: false })).toBe('/ws?session=a&pty=0&repaint=1');
  });
});

describe('backoffDelay', () => {
  it('grows up to a limit', () => {
    expect(backoffDelay(0, 0.5)).toBe(100);
    expect(backoffDelay(1, 0.5)).toBeGreaterThan(backoffDelay(0, 0.5));
    expect(backoffDelay(1000, 1)).toBe(6250);
  });
});

describe('readServerMessage', () => {
  it('reads known messages', () => {
    expect(readServerMessage('{"type":"attached","offset":1,"cols":2,"rows":3}')).toMatchObject({ offset: 1 });
    expect(readServerMessage('{"type":"notice","text":"held back"}')).toEqual({ type: 'notice', text: 'held back' });
  });

  it.each(['', '[]', 'null', '{}', '{"type":"new"}', '{"type":"resized","cols":"1","rows":2}', '{"type":"attached","offset":1e300,"cols":1,"rows":1}', '{"type":"constructor"}'])('ignores %j', (text) => {
    expect(readServerMessage(text)).toBeNull();
  });
});
