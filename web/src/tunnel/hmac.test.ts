import { afterEach, describe, expect, it, vi } from 'vitest';
import { hmacSha256, plainHmacSha256, sha256 } from './hmac';

const bytes = (text: string) => new TextEncoder().encode(text);
const hex = (value: Uint8Array) => [...value].map((byte) => byte.toString(16).padStart(2, '0')).join('');

describe('sha256', () => {
  // FIPS 180-4's examples, and lengths around the end of a block.
  it.each([
    ['', 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'],
    ['abc', 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad'],
    ['abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq', '248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1'],
  ])('of %j', (text, digest) => {
    expect(hex(sha256(bytes(text)))).toBe(digest);
  });

  it('agrees with the browser about every length of a block', async () => {
    for (let length = 0; length < 200; length += 1) {
      const message = Uint8Array.from({ length }, (_, at) => (at * 7 + length) & 255);
      expect(hex(sha256(message))).toBe(hex(new Uint8Array(await crypto.subtle.digest('SHA-256', message))));
    }
  });
});

describe('HMAC-SHA256', () => {
  // RFC 4231, cases 1, 2, 3 and 6 (a key that is longer than a block).
  const cases: [string, Uint8Array, Uint8Array, string][] = [
    ['1', new Uint8Array(20).fill(0x0b), bytes('Hi There'), 'b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7'],
    ['2', bytes('Jefe'), bytes('what do ya want for nothing?'), '5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843'],
    ['3', new Uint8Array(20).fill(0xaa), new Uint8Array(50).fill(0xdd), '773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe'],
    ['6', new Uint8Array(131).fill(0xaa), bytes('Test Using Larger Than Block-Size Key - Hash Key First'), '60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54'],
  ];

  afterEach(() => vi.unstubAllGlobals());

  it.each(cases)('case %s, by the browser', async (_, key, message, code) => {
    expect(hex(await hmacSha256(key, message))).toBe(code);
  });

  it.each(cases)('case %s, without a secure origin', async (_, key, message, code) => {
    expect(hex(plainHmacSha256(key, message))).toBe(code);
    vi.stubGlobal('crypto', {});
    expect(hex(await hmacSha256(key, message))).toBe(code);
  });
});
