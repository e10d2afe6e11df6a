/**
 * What `swb tunnel` prints: an address with everything in its fragment, or one that names where the offer is. What it
 * leads to is an envelope, which has the offer and names the machine that made it.
 */
import { fromBase64url, toBase64url } from './base64url';
import { hmacSha256 } from './hmac';
import { BadPack, unpack } from './pack';

export interface Envelope {
  sdp: string;
  machineId: string;
  hostname: string;
  tunnel: string;
  ice: RTCIceServer[];
}

/** An address as it was opened or pasted. */
export type Invitation =
  /** `home` is the server that the address itself names. */
  | { kind: 'whole'; packed: string; origins: string[]; home?: string }
  | { kind: 'fetched'; tunnel: string; secret: string; origin: string }
  /** The offer is at a rendezvous server. */
  | { kind: 'met'; shortCode: string; secret: string; origin: string };

const VERSION = 1;
const TUNNEL_ID = /^[\w-]{8,64}$/u;
const SHORT_CODE = /^[a-z\d]{6}$/u;
const SECRET_BYTES = 32;

/**
 * Reads an address, or an envelope alone. `page` is the address of this page; the answer may be returned to its origin,
 * or to the one in the address. Returns null if there is nothing to read, and throws if it is something else.
 */
export function readInvitation(text: string, page: string): Invitation | null {
  const trimmed = text.trim();
  if (trimmed === '') return null;
  // An envelope alone has none of the characters of an address.
  if (/^[\w-]+$/u.test(trimmed)) return { kind: 'whole', packed: trimmed, origins: webOrigins(page) };
  if (!URL.canParse(trimmed)) throw new BadPack('This is no address of a tunnel: it begins with http:// or https:// and has a long part after #.');
  const url = new URL(trimmed);
  const fragment = url.hash.slice(1);
  if (fragment === '') throw new BadPack('The part after # is missing; copy the whole address.');
  const shortCode = url.searchParams.get('c');
  if (shortCode !== null && SHORT_CODE.test(shortCode) && /^https?:$/u.test(url.protocol)) return { kind: 'met', shortCode, secret: fragment, origin: url.origin };
  const tunnel = url.searchParams.get('t');
  if (tunnel === null) {
    const [home] = webOrigins(trimmed);
    return { kind: 'whole', packed: fragment, origins: [...new Set([...webOrigins(page), ...webOrigins(trimmed)])], ...(home ? { home } : {}) };
  }
  if (!TUNNEL_ID.test(tunnel) || !/^https?:$/u.test(url.protocol)) throw new BadPack('This is no address of a tunnel; copy the whole address.');
  return { kind: 'fetched', tunnel, secret: fragment, origin: url.origin };
}

function webOrigins(address: string): string[] {
  const url = new URL(address);
  return /^https?:$/u.test(url.protocol) ? [url.origin] : [];
}

export function readSecret(text: unknown): Uint8Array {
  const secret = typeof text === 'string' ? fromBase64url(text) : null;
  if (secret?.length !== SECRET_BYTES) throw new BadPack('The secret of the tunnel is damaged or incomplete; copy the whole address.');
  return secret;
}

/** Reads an envelope with its secret. */
export async function openEnvelope(packed: string): Promise<{ envelope: Envelope; secret: Uint8Array }> {
  const value = await unpack(packed);
  return { envelope: readEnvelope(value), secret: readSecret((value as { secret?: unknown }).secret) };
}

/** Checks what came from elsewhere, field by field. */
export function readEnvelope(value: unknown): Envelope {
  const fields = (typeof value === 'object' && value !== null ? value : {}) as Record<string, unknown>;
  const { version, sdp, machine_id, hostname, tunnel, ice } = fields;
  if (version !== VERSION) throw new BadPack(typeof version === 'number' ? `The offer has version ${version}, and this page knows version ${VERSION}; update the older of the two.` : 'This is no offer of a tunnel.');
  if (typeof sdp !== 'string' || typeof machine_id !== 'string' || typeof hostname !== 'string' || typeof tunnel !== 'string' || !TUNNEL_ID.test(tunnel)) {
    throw new BadPack('This is no offer of a tunnel: something is missing.');
  }
  if (fingerprint(sdp) === null) throw new BadPack('The offer names no certificate, or several.');
  // Names are shown; control characters and a great length would only disturb.
  const name = hostname.replaceAll(/\p{C}/gu, '').trim().slice(0, 64) || 'unnamed machine';
  return { sdp, machineId: machine_id.slice(0, 128), hostname: name, tunnel, ice: readIceServers(ice) };
}

function readIceServers(value: unknown): RTCIceServer[] {
  if (!Array.isArray(value)) return [];
  const isText = (text: unknown): text is string => typeof text === 'string';
  return (value as Record<string, unknown>[]).slice(0, 8).flatMap((server) => {
    const { urls, username, credential } = server ?? {};
    // A browser refuses all servers if it does not know the kind of one.
    if (!isText(urls) || !/^(?:stun|turn)s?:[^\s]+$/iu.test(urls)) return [];
    return [{ urls, ...(isText(username) ? { username } : {}), ...(isText(credential) ? { credential } : {}) }];
  });
}

/** The SHA-256 fingerprint in an offer or answer, in upper case; null without one, and if several differ. */
export function fingerprint(sdp: string): string | null {
  const all = [...sdp.matchAll(/^a=fingerprint:sha-256[ ]+([\dA-F:]+)\s*$/gimu)].map((match) => (match[1] as string).toUpperCase());
  const [first] = all;
  if (first === undefined || !/^(?:[\dA-F]{2}:){31}[\dA-F]{2}$/u.test(first)) return null;
  return all.every((other) => other === first) ? first : null;
}

/** What proves knowledge of the secret, for one purpose. */
export async function code(secret: Uint8Array, purpose: string): Promise<string> {
  return toBase64url(await hmacSha256(secret, new TextEncoder().encode(`swb-tunnel-1 ${purpose}`)));
}

export const purposes = {
  offer: (tunnel: string) => `offer\n${tunnel}\n`,
  answer: (tunnel: string) => `answer\n${tunnel}\n`,
  peer: (offered: string, answered: string) => `peer\n${offered}\n${answered}\n`,
  meeting: (shortCode: string) => `rendezvous-peer\n${shortCode}\n`,
  host: (offered: string, answered: string) => `host\n${offered}\n${answered}\n`,
};
