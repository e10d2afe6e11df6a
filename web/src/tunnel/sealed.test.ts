import { describe, expect, it } from 'vitest';
import { unpack } from './pack';
import { seal, unseal } from './sealed';

const SECRET = new Uint8Array(32).fill(7);

describe('sealed', () => {
  it('opens what another implementation has sealed', async () => {
    // The same vector as in crates/tunnel/src/sealed.rs.
    const sealed =
      'AAECAwQFBgcICQoLm-nWGxnUqMSksYEycPzVNjAGE93mbsgrjbW4-saX_eEhvTgvCbsTu8p9HCPBulmaspKNKUfSIxXjfpZqtBS1' +
      '0oYq0Ut7uSL2P6BtL4itvoycwixH7nUq4kELqeja5vl-rXrAt0-vGJq6gvr9OCYiSbOwHMU';
    expect(await unpack(await unseal(SECRET, 'answer', 'abc123', sealed))).toMatchObject({ version: 1, tunnel: 'tunnel-1' });
  });

  it('opens only with the secret, and only as what it is', async () => {
    const sealed = await seal(SECRET, 'offer', 'abc123', 'packed');
    expect(await unseal(SECRET, 'offer', 'abc123', sealed)).toBe('packed');
    await expect(unseal(new Uint8Array(32), 'offer', 'abc123', sealed)).rejects.toThrow('cannot be trusted');
    await expect(unseal(SECRET, 'answer', 'abc123', sealed)).rejects.toThrow('cannot be trusted');
    await expect(unseal(SECRET, 'offer', 'abc124', sealed)).rejects.toThrow('cannot be trusted');
    for (const bad of ['', 'AAAA', 'not base64', sealed.slice(0, -4)]) await expect(unseal(SECRET, 'offer', 'abc123', bad)).rejects.toThrow('cannot be trusted');
  });
});
