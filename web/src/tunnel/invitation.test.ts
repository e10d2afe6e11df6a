import { describe, expect, it } from 'vitest';
import { browserName, checkProof, noWay } from './dialler';
import { code, fingerprint, openEnvelope, purposes, readEnvelope, readInvitation } from './invitation';
import { MAX_INFLATED, pack, unpack } from './pack';
import { toBase64url } from './base64url';

const PRINT = Array.from({ length: 32 }, () => 'ab').join(':');
const SDP = `v=0\r\na=fingerprint:sha-256 ${PRINT}\r\na=mid:0\r\n`;
const ENVELOPE = { version: 1, sdp: SDP, machine_id: 'm-1', hostname: 'home\u001b[31m', tunnel: 'tunnel-1', secret: toBase64url(new Uint8Array(32).fill(7)) };
const PAGE = 'https://static.example/connect';

describe('readInvitation', () => {
  it('takes addresses and envelopes', () => {
    expect(readInvitation(' http://10.0.0.2:8888/connect#abc-_ \n', PAGE)).toEqual({ kind: 'whole', packed: 'abc-_', origins: ['https://static.example', 'http://10.0.0.2:8888'], home: 'http://10.0.0.2:8888' });
    expect(readInvitation('abc-_', PAGE)).toEqual({ kind: 'whole', packed: 'abc-_', origins: ['https://static.example'] });
    expect(readInvitation('file:///home/a/connect.html#abc', 'file:///home/a/connect.html')).toEqual({ kind: 'whole', packed: 'abc', origins: [] });
    expect(readInvitation('http://10.0.0.2:8888/connect?t=tunnel-1#secret', PAGE)).toEqual({ kind: 'fetched', tunnel: 'tunnel-1', secret: 'secret', origin: 'http://10.0.0.2:8888' });
    expect(readInvitation('https://meet.example/connect?c=abc123#secret', PAGE)).toEqual({ kind: 'met', shortCode: 'abc123', secret: 'secret', origin: 'https://meet.example' });
    expect(readInvitation('  ', PAGE)).toBeNull();
  });

  it.each(['hello world', 'http://10.0.0.2:8888/connect', 'http://10.0.0.2/connect?t=../etc#x', 'javascript:alert(1)?t=tunnel-1#x'])('refuses %j', (text) => {
    expect(() => readInvitation(text, PAGE)).toThrow(/address|#/u);
  });
});

describe('envelopes', () => {
  it('can be packed and unpacked', async () => {
    const { envelope, secret } = await openEnvelope(await pack(ENVELOPE));
    expect(envelope).toEqual({ sdp: SDP, machineId: 'm-1', hostname: 'home[31m', tunnel: 'tunnel-1', ice: [] });
    expect(secret).toEqual(new Uint8Array(32).fill(7));
  });

  it('can be read as Python packs them', async () => {
    // zlib.compressobj(9, zlib.DEFLATED, -15) of {"version": 1}
    expect(await unpack('q1YqSy0qzszPU7JSMKwFAA')).toEqual({ version: 1 });
  });

  it('keep servers that browsers know, and drop others', () => {
    const ice = [{ urls: 'stun:s:3478' }, { urls: 'turn:t:1', username: 'u', credential: 'p' }, { urls: 'http://x' }, null, { urls: 3 }];
    expect(readEnvelope({ ...ENVELOPE, ice }).ice).toEqual([{ urls: 'stun:s:3478' }, { urls: 'turn:t:1', username: 'u', credential: 'p' }]);
  });

  it('of other versions and shapes are explained', async () => {
    await expect(openEnvelope(await pack({ ...ENVELOPE, version: 2 }))).rejects.toThrow(/version 2/u);
    for (const bad of [{ sdp: 1 }, { hostname: null }, { tunnel: '../x' }, { sdp: 'v=0' }, { secret: 'short' }]) {
      await expect(openEnvelope(await pack({ ...ENVELOPE, ...bad }))).rejects.toThrow();
    }
    for (const bad of ['a b', '', '____', 'A'.repeat(300_000)]) await expect(unpack(bad)).rejects.toThrow(/copy|too long/u);
    const packed = await pack(ENVELOPE);
    await expect(unpack(packed.slice(0, packed.length / 2))).rejects.toThrow(/incomplete/u);
  });

  it('cannot become large', async () => {
    const bomb = await pack({ ...ENVELOPE, sdp: '0'.repeat(MAX_INFLATED * 64) });
    expect(bomb.length).toBeLessThan(8192);
    await expect(unpack(bomb)).rejects.toThrow(/too long/u);
  });
});

describe('fingerprint', () => {
  it('is unique, by SHA-256, and in upper case', () => {
    expect(fingerprint(SDP)).toBe(PRINT.toUpperCase());
    expect(fingerprint(SDP + SDP)).toBe(PRINT.toUpperCase());
    expect(fingerprint(`${SDP}a=fingerprint:sha-512 ${PRINT}\r\n`)).toBe(PRINT.toUpperCase());
    expect(fingerprint(SDP + SDP.replaceAll('ab', 'cd'))).toBeNull();
    expect(fingerprint('a=fingerprint:sha-256 AB:CD\r\n')).toBeNull();
    expect(fingerprint('')).toBeNull();
  });
});

describe('proofs', () => {
  it('follow the contract', async () => {
    // As crates/wire tests it: computed with Python's hmac module.
    expect(await code(new Uint8Array(32).fill(7), purposes.offer('abcdefgh'))).toBe('EKf9djz_QNH6FvAe4MSLfVZPZyuFVlqcee9AgwCG3IQ');
  });

  it('grant a role only if they are right', () => {
    expect(checkProof('{"ok":true,"proof":"right","role":"watch","session":null}', 'right', 'home')).toBe('watch');
    for (const bad of ['{"ok":true,"proof":"wrong","role":"drive"}', '{"ok":true,"role":"drive"}', '{"ok":false,"error":"PROOF_FAILED","message":"x"}', '{}', 'null', '[]', 'x']) {
      expect(() => checkProof(bad, 'right', 'home'), bad).toThrow(/home/u);
    }
  });
});

describe('what to try', () => {
  it('depends on the servers of the offer', () => {
    const machine = readEnvelope(ENVELOPE);
    expect(noWay(machine).hints.join(' ')).toMatch(/--no-stun.*--turn/u);
    expect(noWay({ ...machine, ice: [{ urls: 'stun:s' }] }).hints.join(' ')).not.toMatch(/--no-stun/u);
    expect(noWay({ ...machine, ice: [{ urls: 'stun:s' }, { urls: 'turn:t' }] }).hints.join(' ')).not.toMatch(/--turn/u);
  });
});

describe('browserName', () => {
  it('says enough to be recognised', () => {
    expect(browserName('Mozilla/5.0 (Linux; Android 14) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0 Mobile Safari/537.36')).toBe('Chrome on Android');
    expect(browserName('Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Mobile Safari/604.1')).toBe('Safari on iPhone');
    expect(browserName('')).toBe('Browser');
  });
});
