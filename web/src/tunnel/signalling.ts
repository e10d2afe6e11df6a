/** Fetches offers and returns answers through a web server of the daemon, where one can be reached. */
import { code, type Envelope, type Invitation, openEnvelope, purposes, readEnvelope, readSecret } from './invitation';
import { BadPack, unpack } from './pack';
import { seal, unseal } from './sealed';

/** A server in the same network replies at once; a wrong code is delayed by the daemon for up to 2 s. */
const REQUEST_MS = 8000;

export interface Offer {
  envelope: Envelope;
  secret: Uint8Array;
  /** Where the answer may be returned to. */
  origins: string[];
  /** The one of them that the address names: it knows the tunnel, or the tunnel is gone. */
  home?: string;
  /** Place at a rendezvous server for it. */
  meeting?: { origin: string; shortCode: string };
}

export async function fetchOffer(invitation: Invitation): Promise<Offer> {
  if (invitation.kind === 'whole') return { ...(await openEnvelope(invitation.packed)), origins: invitation.origins, ...(invitation.home ? { home: invitation.home } : {}) };
  if (invitation.kind === 'met') return meet(invitation);
  const { origin, tunnel } = invitation;
  const secret = readSecret(invitation.secret);
  let reply: Response;
  try {
    reply = await request(`${origin}/api/tunnel/${tunnel}/offer`, await code(secret, purposes.offer(tunnel)));
  } catch {
    throw new BadPack(`${new URL(origin).host} does not respond. Is \`swb serve\` running there, and is this device in its network?`);
  }
  if (reply.status === 403) throw new BadPack('No tunnel waits at this address any more: it has expired, has been used, or was ended. Run `swb tunnel` again.');
  if (!reply.ok) throw new BadPack(`${new URL(origin).host} replied with the status ${reply.status}.`);
  const envelope = readEnvelope(await reply.json().catch(() => null));
  if (envelope.tunnel !== tunnel) throw new BadPack('The server sent the offer of another tunnel.');
  return { envelope, secret, origins: [origin] };
}

/** Takes the offer from a rendezvous server, which gives it out once. */
async function meet({ origin, shortCode, secret: text }: Extract<Invitation, { kind: 'met' }>): Promise<Offer> {
  const secret = readSecret(text);
  let reply: Response;
  try {
    reply = await request(`${origin}/api/rendezvous/${shortCode}/offer`, await code(secret, purposes.meeting(shortCode)));
  } catch {
    throw new BadPack(`${new URL(origin).host} does not respond.`);
  }
  if (reply.status === 404) throw new BadPack('No tunnel waits under this code any more: it has expired, has been used, or was ended. Run `swb tunnel` again.');
  if (!reply.ok) throw new BadPack(`${new URL(origin).host} replied with the status ${reply.status}.`);
  const envelope = readEnvelope(await unpack(await unseal(secret, 'offer', shortCode, await reply.text())));
  return { envelope, secret, origins: [], meeting: { origin, shortCode } };
}

/** `gone`: the machine itself knows no such tunnel any more. `elsewhere`: no server took it, and a person has to. */
export type Returned = 'returned' | 'used' | 'gone' | 'elsewhere';

export async function returnAnswer({ envelope, secret, origins, home, meeting }: Offer, answer: string): Promise<Returned> {
  if (meeting) {
    const sealed = await seal(secret, 'answer', meeting.shortCode, answer);
    const proof = await code(secret, purposes.meeting(meeting.shortCode));
    const reply = await request(`${meeting.origin}/api/rendezvous/${meeting.shortCode}/answer`, proof, sealed).catch(() => null);
    if (reply?.ok) return 'returned';
    if (reply?.status === 409) return 'used';
  }
  const authorization = await code(secret, purposes.answer(envelope.tunnel));
  let gone = false;
  for (const origin of origins) {
    try {
      const reply = await request(`${origin}/api/tunnel/${envelope.tunnel}/answer`, authorization, answer);
      if (reply.status === 409) return 'used';
      // Any other server may reply to any path with anything.
      const body = (await reply.json()) as { ok?: unknown; error?: unknown } | null;
      if (reply.ok && body?.ok === true) return 'returned';
      gone ||= origin === home && reply.status === 403 && body?.error === 'FORBIDDEN';
    } catch {
      // Not there, or not a daemon.
    }
  }
  return gone ? 'gone' : 'elsewhere';
}

function request(address: string, authorization: string, body?: string): Promise<Response> {
  return fetch(address, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { authorization: `Bearer ${authorization}`, ...(body === undefined ? {} : { 'content-type': 'text/plain' }) },
    ...(body === undefined ? {} : { body }),
    cache: 'no-store',
    credentials: 'omit',
    signal: AbortSignal.timeout(REQUEST_MS),
  });
}
