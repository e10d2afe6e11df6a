/**
 * Offers and answers that a rendezvous server passes on without being able to read them: AES-256-GCM with a key from the
 * tunnel's secret. What is sealed names its purpose and the short code.
 */
import { fromBase64url, toBase64url } from './base64url';
import { hmacSha256 } from './hmac';
import { BadPack } from './pack';

const NONCE = 12;

type Purpose = 'offer' | 'answer';

export async function seal(secret: Uint8Array, purpose: Purpose, shortCode: string, packed: string): Promise<string> {
  const nonce = crypto.getRandomValues(new Uint8Array(NONCE));
  const sealed = new Uint8Array(await crypto.subtle.encrypt(cipher(nonce, purpose, shortCode), await sealingKey(secret), new TextEncoder().encode(packed)));
  const all = new Uint8Array(NONCE + sealed.length);
  all.set(nonce);
  all.set(sealed, NONCE);
  return toBase64url(all);
}

export async function unseal(secret: Uint8Array, purpose: Purpose, shortCode: string, sealed: string): Promise<string> {
  const bytes = fromBase64url(sealed.trim());
  try {
    if (!bytes) throw new Error('not base64url');
    const opened = await crypto.subtle.decrypt(cipher(bytes.slice(0, NONCE), purpose, shortCode), await sealingKey(secret), bytes.slice(NONCE));
    return new TextDecoder('utf-8', { fatal: true }).decode(opened);
  } catch {
    throw new BadPack('What the rendezvous server sent was not sealed with the secret of this tunnel; it cannot be trusted.');
  }
}

function cipher(nonce: Uint8Array, purpose: Purpose, shortCode: string): AesGcmParams {
  return { name: 'AES-GCM', iv: nonce as Uint8Array<ArrayBuffer>, additionalData: new TextEncoder().encode(`${purpose}\n${shortCode}\n`) };
}

async function sealingKey(secret: Uint8Array): Promise<CryptoKey> {
  // Browsers have it on secure origins only, and a rendezvous server without TLS could change this page anyway.
  if (!(globalThis.crypto.subtle as SubtleCrypto | undefined)) throw new BadPack('A short code needs a page that was loaded over https, or from a file.');
  const key = await hmacSha256(secret, new TextEncoder().encode('swb-tunnel-1 seal\n'));
  return crypto.subtle.importKey('raw', key as Uint8Array<ArrayBuffer>, 'AES-GCM', false, ['encrypt', 'decrypt']);
}
