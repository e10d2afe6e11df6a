import { readFileSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import path from 'node:path';
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import type { Page } from '@playwright/test';
import { findings } from '../support/findings';
import { expect, row, terminal, test } from '../support/fixtures';
import { waitFor } from '../support/wait';
import { kill } from '../support/processes';
import { connectPage, TunnelCommand } from '../support/tunnel';

const pack = (message: object) => deflateRawSync(JSON.stringify(message)).toString('base64url');
const unpack = (text: string) => JSON.parse(inflateRawSync(Buffer.from(text, 'base64url')).toString()) as Record<string, string>;
const fragment = (address: string) => address.slice(address.indexOf('#') + 1);

/** The answer that the page shows. */
async function shownAnswer(page: Page): Promise<string> {
  return page.getByRole('textbox', { name: 'Answer' }).inputValue();
}

/** Opens a tunnel by its address, through the daemon's web server. */
async function connect(page: Page, tunnel: TunnelCommand): Promise<void> {
  await page.goto(tunnel.offer.short_url ?? '');
  await expect(page.locator('.root')).toBeVisible();
}

test('an address connects without another step, and disappears', async ({ page, daemon }) => {
  await daemon.web();
  await daemon.session('api');
  const tunnel = await TunnelCommand.open(daemon);
  await connect(page, tunnel);
  expect(page.url()).toBe(new URL('/connect', tunnel.offer.url).href);
  const api = terminal(page, 'api');
  await api.shows('$');
  await api.settled(daemon);
  await api.enter('echo over-$((2*21))');
  await api.shows('over-42');
  expect((await tunnel.until('connected')).peer).toBe('Chrome on Linux');
  // A tunnel carries no conversations: they can be read, and that is all.
  await page.getByRole('tab', { name: 'Conversation' }).click();
  await expect(page.getByText('No messages yet')).toBeVisible();
  await expect(page.getByRole('textbox', { name: /^Message/ })).toHaveCount(0);
  // Nothing of it is left where a script or the next user could find it.
  const stored = await page.evaluate(() => JSON.stringify({ ...localStorage, ...sessionStorage }));
  expect(stored).not.toContain(fragment(tunnel.offer.short_url ?? ''));

  // A reload ends the tunnel at once; the machine is known from now on.
  await page.reload();
  expect((await tunnel.until('closed')).reason).toBe('peer');
  await expect(page.getByRole('heading', { name: 'Known machines' })).toBeVisible();
  await expect(page.getByRole('listitem')).toContainText('api');
  await page.getByRole('button', { name: /^Forget/ }).click();
  await expect(page.getByRole('listitem')).toHaveCount(0);
});

test('an address in the network of the house works without a secure origin', async ({ page, daemon }) => {
  const address = Object.values(networkInterfaces()).flatMap((all) => all ?? []).find(({ family, internal }) => family === 'IPv4' && !internal)?.address;
  test.skip(address === undefined, 'this machine has no network');
  await daemon.swb('serve', '--host', '0.0.0.0', '--port', '0', '--json');
  await daemon.session('api');
  const tunnel = await TunnelCommand.open(daemon);
  expect(tunnel.offer.short_url).toContain(`http://${address}:`);
  await connect(page, tunnel);
  expect(await page.evaluate(() => [isSecureContext, typeof crypto.subtle])).toEqual([false, 'undefined']);
  await terminal(page, 'api').shows('$');
});

test('a whole address works in the page as well, and the layout returns', async ({ page, daemon }) => {
  const { port } = await daemon.web();
  await daemon.session('api');
  await daemon.session('web');
  await page.goto(`http://127.0.0.1:${port}/connect`);
  const field = page.getByRole('textbox', { name: 'Address or offer' });
  await field.fill('nonsense with spaces');
  await field.press('Enter');
  await expect(page.getByRole('alert')).toContainText('no address of a tunnel');
  const first = await TunnelCommand.open(daemon);
  await field.fill(first.offer.url);
  await field.press('Enter');
  await terminal(page, 'api').shows('$');
  await page.getByRole('button', { name: 'Split to the right' }).click();
  await row(page, 'web').click();
  await terminal(page, 'web').shows('$');

  // The command ends: the page shows that, and how to go on.
  first.end();
  await expect(page.getByRole('alert')).toContainText('has ended the tunnel');
  await page.getByRole('button', { name: 'Connect again' }).click();
  await expect(page.getByRole('listitem')).toContainText('api, web');
  const second = await TunnelCommand.open(daemon);
  // As a user does who pastes it into the address bar: the page is not loaded again.
  await page.evaluate((text) => void (location.hash = text), fragment(second.offer.url));
  await terminal(page, 'web').shows('$');
  await expect(page.locator('.pane')).toHaveCount(2);
  expect(new URL(page.url()).hash).toBe('');
});

test('opened from a file, the page takes an answer by text', async ({ page, daemon }) => {
  await daemon.session('api');
  const tunnel = await TunnelCommand.open(daemon);
  await page.goto(`${connectPage()}#${fragment(tunnel.offer.url)}`);
  const answer = await shownAnswer(page);
  expect(page.url()).not.toContain('#');
  await page.getByRole('button', { name: 'Copy as a command' }).click();
  await expect(page.getByRole('button', { name: 'Copied' })).toBeVisible();
  expect((await daemon.run('tunnel', '--answer', answer.slice(0, -20))).code).toBe(1);
  await daemon.swb('tunnel', '--answer', answer);
  await terminal(page, 'api').shows('$');
  await tunnel.until('connected');

  // The other way: pasted into the waiting command.
  const another = await TunnelCommand.open(daemon, 'api');
  await page.goto('about:blank');
  await page.goto(connectPage());
  await page.getByRole('textbox', { name: 'Address or offer' }).fill(fragment(another.offer.url));
  await page.getByRole('button', { name: 'Connect' }).click();
  another.type(await shownAnswer(page));
  await terminal(page, 'api').shows('$');
});

test('a page from elsewhere reaches the machine by itself while its web server runs', async ({ page, daemon }) => {
  await daemon.web();
  await daemon.session('api');
  for (const kind of ['url', 'short_url'] as const) {
    const tunnel = await TunnelCommand.open(daemon);
    await page.goto('about:blank');
    await page.goto(connectPage());
    await page.getByRole('textbox', { name: 'Address or offer' }).fill(tunnel.offer[kind] ?? '');
    await page.getByRole('button', { name: 'Connect' }).click();
    await terminal(page, 'api').shows('$');
  }
});

test('sessions are created and used over a tunnel', async ({ page, daemon }) => {
  await daemon.web();
  await connect(page, await TunnelCommand.open(daemon));
  await expect(page.getByText('No sessions')).toBeVisible();
  await page.keyboard.press('Control+Shift+S');
  const dialog = page.getByRole('dialog', { name: 'New session' });
  await dialog.getByLabel('Directory').fill(daemon.workspace('made'));
  await dialog.getByLabel('Command').fill('bash');
  await dialog.getByLabel('Name').fill('made');
  await dialog.getByRole('button', { name: 'Create' }).click();
  const made = terminal(page, 'made');
  await made.shows('$');
  await made.enter('pwd; echo typed-$((1+1))');
  await made.shows('typed-2');
  // A second view of the same terminal, and a shell beside it.
  await page.getByRole('button', { name: 'Split to the right' }).click();
  await expect(page.locator('.pane .xterm')).toHaveCount(2);
  await expect(page.locator('.pane').nth(1).locator('.xterm-rows')).toContainText('typed-2');
  await made.enter('exit 3');
  await expect(page.locator('.pane').first()).toContainText(/3/);
});

test('20 MB end with the right screen', async ({ page, daemon }) => {
  await daemon.web();
  const big = path.join(daemon.workspace(''), 'big.txt');
  await daemon.script('flood', `seq -f 'line %.0f of a file that is long enough to need the window of the tunnel' 1 280000 > ${big}; stty -echo; echo up; read go; cat ${big}; echo the end; exec cat`);
  await connect(page, await TunnelCommand.open(daemon));
  const flood = terminal(page, 'flood');
  await flood.shows('up');
  await flood.settled(daemon);
  const began = Date.now();
  await flood.enter('go');
  const shown = await flood.shows(/^the end$/mu);
  const size = readFileSync(big).length;
  expect(size).toBeGreaterThan(20e6);
  console.log(`${(size / 1e6).toFixed(0)} MB over a tunnel: ${((Date.now() - began) / 1000).toFixed(1)} s`);
  const expected = (await daemon.swb('screen', 'flood')).trimEnd().split('\n').map((line) => line.trimEnd());
  expect(shown.lines.slice(shown.base).join('\n').trimEnd().split('\n')).toEqual(expected);
  // It is still a terminal.
  await flood.enter('after all that');
  await flood.shows('after all that');
});

test('large input arrives whole', async ({ page, daemon }) => {
  await daemon.web();
  await daemon.script('sum', 'stty -echo raw; echo up; head -c 300000 | cksum; exec cat');
  await connect(page, await TunnelCommand.open(daemon));
  const sum = terminal(page, 'sum');
  await sum.shows('up');
  await sum.focus();
  await page.evaluate(() => {
    const data = new DataTransfer();
    data.setData('text/plain', 'x'.repeat(300_000));
    document.activeElement?.dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, bubbles: true }));
  });
  // That of 300 000 times `x`.
  await sum.shows('2685198886 300000');
});

test('a tunnel for watching types nothing', async ({ page, daemon }) => {
  await daemon.web();
  await daemon.session('api');
  const tunnel = await TunnelCommand.open(daemon, '--role', 'watch');
  await connect(page, tunnel);
  const api = terminal(page, 'api');
  await api.shows('$');
  await expect(page.getByText('Watching')).toBeVisible();
  await expect(page.getByRole('button', { name: 'New session' })).toHaveCount(0);
  await api.enter('echo by-a-watcher');
  await daemon.swb('send', 'api', 'echo by-the-owner', '--enter');
  await api.shows('by-the-owner');
  expect(await api.text()).not.toContain('by-a-watcher');
  expect(await daemon.size('api')).toBe('80x24');
  await expect(page.locator('.notice')).toHaveCount(0);
});

test('a tunnel to one session shows that one only', async ({ page, daemon }) => {
  await daemon.web();
  await daemon.session('api');
  await daemon.session('web');
  await connect(page, await TunnelCommand.open(daemon, 'web'));
  await terminal(page, 'web').shows('$');
  await expect(page.locator('[data-session-row]')).toHaveCount(1);
  await expect(row(page, 'web')).toBeVisible();
});

test('a daemon that dies ends the tunnel, and the page says so', async ({ page, daemon }) => {
  await daemon.web();
  await daemon.session('api');
  const tunnel = await TunnelCommand.open(daemon);
  await connect(page, tunnel);
  await terminal(page, 'api').shows('$');
  kill(await daemon.daemonPid());
  expect((await tunnel.until('closed')).reason).toBe('daemon');
  await expect(page.getByText('Nothing arrives from')).toBeVisible();
  await expect(page.getByRole('alert')).toContainText(/The tunnel has ended: .* can no longer be reached/);
  await page.getByRole('button', { name: 'Connect again' }).click();
  await expect(page.getByRole('heading', { name: 'Connect to a machine' })).toBeVisible();
});

test('an offer that was used, has ended or leads nowhere is explained', async ({ page, context, daemon }) => {
  await daemon.web();
  await daemon.session('api');
  const tunnel = await TunnelCommand.open(daemon);
  await connect(page, tunnel);
  await tunnel.until('connected');
  const other = await context.newPage();
  await other.goto(tunnel.offer.short_url ?? '');
  await expect(other.getByRole('alert')).toContainText('No tunnel waits at this address any more');
  await other.goto('about:blank');
  await other.goto(tunnel.offer.url);
  await expect(other.getByRole('alert')).toContainText('Another device has used this offer');
  await other.goto('about:blank');
  await other.goto(tunnel.offer.url.slice(0, -100));
  await expect(other.getByRole('alert')).toContainText('incomplete');
  // One that has ended: the machine says so, and nobody is asked to carry an answer.
  await daemon.swb('tunnel', 'revoke', tunnel.offer.tunnel);
  await expect(page.getByRole('alert')).toContainText('has ended the tunnel: it was revoked there');
  await tunnel.until('closed');
  await other.goto('about:blank');
  await other.goto(tunnel.offer.url);
  await expect(other.getByRole('alert')).toContainText('No tunnel waits at this address any more');
});

test('a host that cannot be reached is explained after 30 s', async ({ page, daemon }) => {
  const { port } = await daemon.web();
  const tunnel = await TunnelCommand.open(daemon);
  const envelope = unpack(fragment(tunnel.offer.url));
  // Nothing is at this address, which is for documentation; the answer reaches the host, and no packet does.
  const sdp = envelope['sdp']!.replaceAll(/^(a=candidate:\S+ \d udp \d+) \S+ \d+/gimu, '$1 203.0.113.9 9');
  expect(sdp).toContain('203.0.113.9');
  await page.addInitScript(() => {
    // The host could find this browser by the addresses in the answer.
    const { fetch: original } = window;
    window.fetch = (input, init) => (init?.method === 'POST' ? Promise.resolve(new Response('{"ok":true}')) : original(input, init));
  });
  await page.goto(`http://127.0.0.1:${port}/connect#${pack({ ...envelope, sdp })}`);
  await expect(page.getByRole('status')).toContainText('Waiting for');
  const alert = page.getByRole('alert');
  await expect(alert).toContainText('no packet got through');
  await expect(alert).toContainText('--no-stun');
  await expect(alert).toContainText('--turn');
});

test('a host that does not prove who it is, is shown as an attack', async ({ page, context }) => {
  // Another page plays the host: it made the offer, but does not know the secret that the address contains.
  const host = await context.newPage();
  await host.goto('about:blank');
  const sdp = await host.evaluate(async () => {
    const connection = new RTCPeerConnection();
    const channel = connection.createDataChannel('coop-control');
    const received: string[] = [];
    channel.onmessage = ({ data }: MessageEvent<string>) => {
      received.push(data);
      channel.send(JSON.stringify({ ok: true, proof: 'A'.repeat(43), role: 'drive', session: null }));
    };
    Object.assign(window, { connection, received });
    await connection.setLocalDescription();
    await new Promise<void>((resolve) => {
      connection.onicegatheringstatechange = () => connection.iceGatheringState === 'complete' && resolve();
    });
    return connection.localDescription!.sdp;
  });
  const envelope = { version: 1, sdp, machine_id: 'm', hostname: 'home', tunnel: 'tunnel-1', secret: Buffer.alloc(32, 7).toString('base64url') };
  await page.goto(`${connectPage()}#${pack(envelope)}`);
  const answer = unpack(await shownAnswer(page));
  await host.evaluate((text) => (window as unknown as { connection: RTCPeerConnection }).connection.setRemoteDescription({ type: 'answer', sdp: text }), answer['sdp']!);
  await expect(page.getByRole('heading')).toHaveText('Stopped: this may be an attack');
  await expect(page.getByRole('alert')).toContainText('This is not home');
  const received = await host.evaluate(() => (window as unknown as { received: string[] }).received);
  expect(received).toHaveLength(1);
  expect(JSON.parse(received[0] ?? '')).toHaveProperty('proof');
  expect(await page.evaluate(() => localStorage.getItem('switchboard.machines'))).toBeNull();
});

test('an offer with another certificate is shown as an attack', async ({ page, daemon }) => {
  const tunnel = await TunnelCommand.open(daemon);
  const envelope = unpack(fragment(tunnel.offer.url));
  const sdp = envelope['sdp']!.replace(/(?<=a=fingerprint:sha-256 ).*/u, Array.from({ length: 32 }, () => 'AB').join(':'));
  await page.goto(`${connectPage()}#${pack({ ...envelope, sdp })}`);
  tunnel.type(await shownAnswer(page));
  await expect(page.getByRole('heading')).toHaveText('Stopped: this may be an attack');
});

test('a peer with a wrong secret is refused by the host, and told why', async ({ page, daemon }) => {
  await daemon.session('api');
  const tunnel = await TunnelCommand.open(daemon);
  const envelope = { ...unpack(fragment(tunnel.offer.url)), secret: Buffer.alloc(32, 7).toString('base64url') };
  await page.goto(`${connectPage()}#${pack(envelope)}`);
  tunnel.type(await shownAnswer(page));
  await expect(page.getByRole('alert')).toContainText('refused this device');
  expect((await tunnel.until('closed')).reason).toBe('refused');
});

for (const colorScheme of ['dark', 'light'] as const) {
  test.describe(colorScheme, () => {
    test.use({ colorScheme, contextOptions: { reducedMotion: 'reduce' } });

    test('the page for tunnels has no serious findings', async ({ page, daemon }) => {
      await daemon.session('api');
      await page.addInitScript(() => location.protocol === 'file:' && localStorage.setItem('switchboard.machines', JSON.stringify([{ id: 'm', hostname: 'home', at: Date.now() - 7200_000 }])));
      await page.goto(connectPage());
      await expect(page.getByText('home')).toBeVisible();
      expect(await findings(page), 'start').toEqual([]);
      const field = page.getByRole('textbox', { name: 'Address or offer' });
      await field.fill('x x');
      await field.press('Enter');
      await expect(page.getByRole('alert')).toBeVisible();
      expect(await findings(page), 'a wrong address').toEqual([]);
      const tunnel = await TunnelCommand.open(daemon);
      await field.fill(tunnel.offer.url);
      await field.press('Enter');
      const answer = await shownAnswer(page);
      expect(await findings(page), 'by hand').toEqual([]);
      await daemon.swb('tunnel', '--answer', answer);
      await terminal(page, 'api').shows('$');
      tunnel.end();
      await expect(page.getByRole('alert')).toContainText('has ended the tunnel');
      expect(await findings(page), 'ended').toEqual([]);
      await page.goto('about:blank');
      await page.goto(`${connectPage()}#damaged`);
      await expect(page.getByRole('alert')).toContainText('incomplete');
      expect(await findings(page), 'failed').toEqual([]);
    });
  });
}

test.describe('on a phone', () => {
  test.use({ viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true });

  test('everything fits, and terminals are watched and used', async ({ page, daemon }) => {
    await daemon.session('api');
    const fits = async () => page.evaluate(() => document.scrollingElement!.scrollWidth <= innerWidth && [...document.querySelectorAll('.connect, .connect *')].every((element) => element.getBoundingClientRect().right <= innerWidth + 1));
    await page.goto(connectPage());
    await expect(page.getByRole('heading', { name: 'Connect to a machine' })).toBeVisible();
    expect(await fits()).toBe(true);
    const tunnel = await TunnelCommand.open(daemon);
    await page.getByRole('textbox', { name: 'Address or offer' }).fill(tunnel.offer.url);
    await page.getByRole('button', { name: 'Connect' }).tap();
    tunnel.type(await shownAnswer(page));
    await waitFor('the page to fit', fits);
    const api = terminal(page, 'api');
    await api.shows('$');
    expect(await daemon.size('api')).toBe('80x24');
    await daemon.swb('send', 'api', 'echo seen-$((3*3))', '--enter');
    await api.shows('seen-9');
    tunnel.end();
    await page.getByRole('button', { name: 'Connect again' }).tap();
    await expect(page.getByRole('heading', { name: 'Known machines' })).toBeVisible();
    expect(await fits()).toBe(true);
  });
});
