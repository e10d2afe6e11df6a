/**
 * HMAC-SHA256 (RFC 2104, FIPS 180-4). Browsers have it, but only on secure origins, and a phone often opens the page by
 * plain HTTP in its own network; then the second implementation here computes the same. It is for messages of a few
 * hundred bytes.
 */

export async function hmacSha256(key: Uint8Array, message: Uint8Array): Promise<Uint8Array> {
  const subtle = globalThis.crypto?.subtle as SubtleCrypto | undefined;
  if (!subtle) return plainHmacSha256(key, message);
  const imported = await subtle.importKey('raw', key as Uint8Array<ArrayBuffer>, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']);
  return new Uint8Array(await subtle.sign('HMAC', imported, message as Uint8Array<ArrayBuffer>));
}

const BLOCK = 64;

export function plainHmacSha256(key: Uint8Array, message: Uint8Array): Uint8Array {
  const padded = new Uint8Array(BLOCK);
  padded.set(key.length > BLOCK ? sha256(key) : key);
  const inner = sha256(joined(padded.map((byte) => byte ^ 0x36), message));
  return sha256(joined(padded.map((byte) => byte ^ 0x5c), inner));
}

function joined(first: Uint8Array, second: Uint8Array): Uint8Array {
  const both = new Uint8Array(first.length + second.length);
  both.set(first);
  both.set(second, first.length);
  return both;
}

/** The first 32 bits of the fractional part of `root` of the first primes. */
function primeConstants(count: number, root: (prime: number) => number): Uint32Array {
  const constants: number[] = [];
  for (let number = 2; constants.length < count; number += 1) {
    let divisor = 2;
    while (divisor * divisor <= number && number % divisor !== 0) divisor += 1;
    if (divisor * divisor > number) constants.push((root(number) % 1) * 2 ** 32);
  }
  return Uint32Array.from(constants, Math.floor);
}

const ROUNDS = primeConstants(64, Math.cbrt);
const START = primeConstants(8, Math.sqrt);

const rotated = (word: number, by: number) => (word >>> by) | (word << (32 - by));

export function sha256(message: Uint8Array): Uint8Array {
  // The message, a one bit, zeros, and its length in bits at the end of a block.
  const padded = new Uint8Array(Math.ceil((message.length + 9) / BLOCK) * BLOCK);
  padded.set(message);
  padded[message.length] = 0x80;
  const view = new DataView(padded.buffer);
  view.setUint32(padded.length - 8, Math.floor(message.length / 2 ** 29));
  view.setUint32(padded.length - 4, message.length << 3);

  const state = Uint32Array.from(START);
  const words = new Uint32Array(64);
  const word = (at: number) => words[at] as number;
  for (let block = 0; block < padded.length; block += BLOCK) {
    for (let at = 0; at < 16; at += 1) words[at] = view.getUint32(block + 4 * at);
    for (let at = 16; at < 64; at += 1) {
      const [early, late] = [word(at - 15), word(at - 2)];
      const small = rotated(early, 7) ^ rotated(early, 18) ^ (early >>> 3);
      const large = rotated(late, 17) ^ rotated(late, 19) ^ (late >>> 10);
      words[at] = word(at - 16) + small + word(at - 7) + large;
    }
    let [a, b, c, d, e, f, g, h] = state as unknown as [number, number, number, number, number, number, number, number];
    for (let at = 0; at < 64; at += 1) {
      const choice = (e & f) ^ (~e & g);
      const majority = (a & b) ^ (a & c) ^ (b & c);
      const first = h + (rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25)) + choice + (ROUNDS[at] as number) + word(at);
      const second = (rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22)) + majority;
      [h, g, f, e, d, c, b, a] = [g, f, e, (d + first) | 0, c, b, a, (first + second) | 0];
    }
    [a, b, c, d, e, f, g, h].forEach((value, at) => (state[at] = (state[at] as number) + value));
  }
  const digest = new Uint8Array(32);
  const out = new DataView(digest.buffer);
  state.forEach((value, at) => out.setUint32(4 * at, value));
  return digest;
}
