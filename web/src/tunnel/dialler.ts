import type { Role } from '../protocol/control';
import { code, type Envelope, fingerprint, type Invitation, purposes } from './invitation';
import { BadPack, pack } from './pack';
import { fetchOffer, type Offer, returnAnswer } from './signalling';
import { Tunnel } from './tunnel';

/** An address that a STUN server does not report within this time is left out. */
const GATHERING_MS = 3000;
/** How long the connection may take once the host has the answer. */
const CONNECTING_MS = 30_000;
/** How long the host may take for its proof. */
const PROOF_MS = 10_000;

export interface Failure {
  /** `attack`: another machine than the one that made the offer has answered. */
  kind: 'address' | 'used' | 'network' | 'attack' | 'refused' | 'browser';
  text: string;
  /** What to try, one sentence each. */
  hints: string[];
}

export type Stage =
  | { at: 'offer' }
  | { at: 'gathering'; machine: Envelope }
  | { at: 'returning'; machine: Envelope }
  /** A person has to carry the answer. */
  | { at: 'by-hand'; machine: Envelope; answer: string }
  | { at: 'waiting'; machine: Envelope }
  | { at: 'checking'; machine: Envelope }
  | { at: 'connected'; tunnel: Tunnel }
  | { at: 'failed'; machine: Envelope | null; failure: Failure };

class Failed extends Error {
  constructor(readonly failure: Failure) {
    super(failure.text);
  }
}

/** Connects to the machine that an invitation names, once. Invariant: after `cancel` no stage is reported. */
export class Dialler {
  private connection: RTCPeerConnection | null = null;
  private machine: Envelope | null = null;
  private cancelled = false;

  constructor(
    invitation: Invitation,
    private readonly onStage: (stage: Stage) => void,
  ) {
    void this.dial(invitation).catch((error: unknown) => this.fail(error));
  }

  cancel(): void {
    this.cancelled = true;
    this.connection?.close();
  }

  private report(stage: Stage): void {
    if (!this.cancelled) this.onStage(stage);
  }

  private fail(error: unknown): void {
    this.connection?.close();
    const text = error instanceof Error ? error.message : String(error);
    const failure: Failure = error instanceof Failed ? error.failure : { kind: error instanceof BadPack ? 'address' : 'browser', text, hints: [] };
    this.report({ at: 'failed', machine: this.machine, failure });
  }

  private async dial(invitation: Invitation): Promise<void> {
    if (typeof RTCPeerConnection === 'undefined') {
      throw new Failed({ kind: 'browser', text: 'This browser has no WebRTC, which a tunnel needs.', hints: ['Use another browser, or switch WebRTC on in its settings.'] });
    }
    this.report({ at: 'offer' });
    const offer = await fetchOffer(invitation);
    const machine = offer.envelope;
    this.machine = machine;
    if (this.cancelled) return;
    this.report({ at: 'gathering', machine });
    const connection = new RTCPeerConnection({ iceServers: machine.ice });
    this.connection = connection;
    const sdp = await answerTo(connection, machine.sdp);
    const opened = firstChannel(connection, machine.hostname);
    // It may fail before it is waited for.
    opened.catch(() => {});
    const answer = await pack({ version: 1, tunnel: machine.tunnel, sdp });
    if (this.cancelled) return;
    this.report({ at: 'returning', machine });
    const control = await this.channel(offer, answer, opened);
    if (this.cancelled) return;
    this.report({ at: 'checking', machine });
    const role = await prove(control, offer, sdp);
    const tunnel = new Tunnel(connection, control, machine, role);
    if (this.cancelled) tunnel.close();
    this.report({ at: 'connected', tunnel });
  }

  /**
   * Chromium gives up on addresses that do not reply within 15 s. The host replies as soon as it has the answer, but our own
   * packets have to tell it where we are, and open the way through a router: they go on until then.
   */
  private keepTrying(sdp: string): void {
    const { connection } = this;
    let time = 0;
    const look = () => {
      // Of another certificate, if it is not the way that has failed.
      if (connection?.connectionState !== 'failed' || connection.sctp?.transport.state === 'failed') return;
      time += 1;
      for (const candidate of candidatesAgain(sdp, time)) void connection.addIceCandidate(candidate).catch(() => {});
    };
    connection?.addEventListener('connectionstatechange', look);
    look();
  }

  /** Returns the answer, and waits for the host's channel. */
  private async channel(offer: Offer, answer: string, opened: Promise<RTCDataChannel>): Promise<RTCDataChannel> {
    const machine = offer.envelope;
    const returned = await returnAnswer(offer, answer);
    if (returned === 'used') {
      throw new Failed({ kind: 'used', text: 'Another device has used this offer already.', hints: ['Each offer connects one device. Run `swb tunnel` again for this one.', 'If that device is not yours, end the tunnel with Ctrl+C or `swb tunnel revoke`: another person has seen the address.'] });
    }
    if (returned === 'gone') {
      throw new Failed({ kind: 'used', text: 'No tunnel waits at this address any more: it has expired, has been used, or was ended.', hints: ['Run `swb tunnel` again.', 'If the page of another machine was used, paste only the part of the address behind #.'] });
    }
    if (returned === 'elsewhere') {
      this.report({ at: 'by-hand', machine, answer });
      // A person takes the time that it takes; the offer expires by itself.
      this.keepTrying(machine.sdp);
      return opened;
    }
    this.report({ at: 'waiting', machine });
    return within(CONNECTING_MS, opened, () => new Failed(noWay(machine)));
  }
}

/**
 * The addresses of the host in an offer, once more. A browser ignores what it knows already, so that each time they have
 * another foundation and a lower priority.
 */
export function candidatesAgain(sdp: string, time: number): RTCIceCandidateInit[] {
  const all = [...sdp.matchAll(/^a=candidate:(\S+) (\d+ \S+) (\d+) (.*?)\s*$/gmu)];
  return all.map(([, foundation, way, priority, rest]) => ({
    candidate: `candidate:${time}${foundation?.slice(0, 28)} ${way} ${Math.max(1, Number(priority) - time)} ${rest}`,
    sdpMLineIndex: 0,
  }));
}

/** What to say if no packet gets through. */
export function noWay(machine: Envelope): Failure {
  const urls = machine.ice.flatMap(({ urls: all }) => all);
  const turn = urls.some((url) => url.startsWith('turn'));
  const hints = ['If both devices are at the same place, put them into the same network: guest networks often keep devices apart.'];
  if (urls.length === 0) hints.push('This offer works within one network only. Run `swb tunnel` without `--no-stun`, so that both ends find out their addresses on the internet.');
  if (!turn) hints.push('If that is not enough, one of the networks allows no direct connection. Run `swb tunnel --turn turn:USER:PASSWORD@HOST` with a TURN server that relays the encrypted packets.');
  else hints.push('Check the address, name and password of the TURN server, and that this network lets UDP through.');
  return { kind: 'network', text: `No connection to ${machine.hostname} within ${CONNECTING_MS / 1000} s: it has the answer, but no packet got through.`, hints };
}

/**
 * The host opens the control channel. It never does if no packet gets through, for which others wait; but if packets do
 * and no encrypted connection comes of it, the other end has another certificate than the offer names.
 */
function firstChannel(connection: RTCPeerConnection, hostname: string): Promise<RTCDataChannel> {
  return new Promise((resolve, reject) => {
    connection.ondatachannel = ({ channel }) => {
      if (channel.label !== 'coop-control') return;
      if (channel.readyState === 'open') resolve(channel);
      else channel.onopen = () => resolve(channel);
    };
    const look = () => {
      if (connection.sctp?.transport.state === 'failed') reject(new Failed(notTheHost(hostname)));
    };
    connection.onconnectionstatechange = look;
    connection.sctp?.transport.addEventListener('statechange', look);
  });
}

/** Another machine than the one that made the offer is at the other end. */
function notTheHost(hostname: string): Failure {
  const hints = ['Nothing was sent to it, and nothing that it sent was shown.', 'A machine between the two may have changed what they sent. Use another network, or carry the address by QR code.'];
  return { kind: 'attack', text: `This is not ${hostname}: the machine that answered cannot prove that it made the offer.`, hints };
}

/** The answer to an offer, with all of our addresses. */
async function answerTo(connection: RTCPeerConnection, sdp: string): Promise<string> {
  try {
    await connection.setRemoteDescription({ type: 'offer', sdp });
  } catch {
    throw new BadPack('The browser does not understand the offer.');
  }
  await connection.setLocalDescription();
  const gathered = new Promise<void>((resolve) => {
    const look = () => connection.iceGatheringState === 'complete' && resolve();
    connection.addEventListener('icegatheringstatechange', look);
    setTimeout(resolve, GATHERING_MS);
    look();
  });
  await gathered;
  return connection.localDescription?.sdp ?? '';
}

/** Proves that we know the secret, and has the host prove the same, for the certificates that both see. */
export async function prove(control: RTCDataChannel, { envelope, secret }: Offer, answer: string): Promise<Role> {
  const [offered, answered] = [fingerprint(envelope.sdp), fingerprint(answer)];
  if (offered === null || answered === null) throw new BadPack('The browser names no certificate in its answer.');
  const reply = new Promise<string>((resolve, reject) => {
    control.onmessage = ({ data }: MessageEvent<unknown>) => resolve(String(data));
    control.onclose = () => reject(new Failed({ kind: 'refused', text: `${envelope.hostname} closed the connection before it proved who it is.`, hints: ['Run `swb tunnel` again.'] }));
  });
  // It may fail before it is waited for below.
  reply.catch(() => {});
  const proof = await code(secret, purposes.peer(offered, answered));
  control.send(JSON.stringify({ proof, name: browserName(navigator.userAgent), events: true }));
  const expected = await code(secret, purposes.host(offered, answered));
  const late = () => new Failed({ kind: 'refused', text: `${envelope.hostname} did not prove who it is.`, hints: ['Run `swb tunnel` again.'] });
  return checkProof(await within(PROOF_MS, reply, late), expected, envelope.hostname);
}

/** The role that the host grants, if its proof is right. */
export function checkProof(reply: string, expected: string, hostname: string): Role {
  let message: Record<string, unknown> = {};
  try {
    message = (JSON.parse(reply) as Record<string, unknown> | null) ?? {};
  } catch {
    // Not from a host of ours.
  }
  if (message['ok'] === false) {
    const hints = ['If you did not copy the address by hand, it may have been changed on its way: open it from the machine itself, by its QR code or over TLS.', 'This offer is used up. Run `swb tunnel` again.'];
    throw new Failed({ kind: 'attack', text: `${hostname} refused this device: what it sees of the connection is not what was agreed on.`, hints });
  }
  if (message['ok'] !== true || message['proof'] !== expected) {
    throw new Failed(notTheHost(hostname));
  }
  return message['role'] as Role;
}

/** What the host shows about this device: which browser, on what. */
export function browserName(agent: string): string {
  const browser = [['Firefox', 'Firefox'], ['Edg', 'Edge'], ['Chrome', 'Chrome'], ['Safari', 'Safari']].find(([mark]) => agent.includes(`${mark}/`))?.[1] ?? 'Browser';
  const system = ['Android', 'iPhone', 'iPad', 'Windows', 'Mac OS', 'Linux'].find((name) => agent.includes(name));
  return system ? `${browser} on ${system}` : browser;
}

async function within<T>(limit: number, wanted: Promise<T>, late: () => Error): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(late()), limit);
  });
  try {
    return await Promise.race([wanted, timeout]);
  } finally {
    clearTimeout(timer);
  }
}
