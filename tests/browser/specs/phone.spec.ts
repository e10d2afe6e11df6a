import { expect, row, signIn, terminal, test } from '../support/fixtures';
import { screenAgent } from '../support/agents';

test.use({ viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true });

test('a phone shows one terminal, a drawer, keys and a prompt field', async ({ page, daemon }) => {
  await daemon.session('api', { size: '100x30' });
  await daemon.session('web', { size: '100x30' });
  await signIn(page, daemon);
  await terminal(page, 'api').shows('$');
  await expect(page.getByRole('navigation', { name: 'Sessions' })).toBeHidden();

  await page.getByRole('button', { name: 'Sessions' }).tap();
  await expect(page.getByRole('navigation', { name: 'Sessions' })).toBeVisible();
  await row(page, 'web').tap();
  await expect(page.getByRole('navigation', { name: 'Sessions' })).toBeHidden();
  await expect(page.getByRole('heading', { level: 1 })).toContainText('web');
  const web = terminal(page, 'web');
  await web.shows('$');

  // The prompt field and the keys.
  const field = page.getByRole('textbox', { name: 'Prompt for web' });
  await field.fill('cat');
  await page.getByRole('button', { name: 'Send' }).tap();
  await web.shows('$ cat');
  await expect(page.locator('.phone-header').getByRole('img', { name: 'Working' })).toBeVisible();
  await field.fill('first line');
  await field.press('Enter');
  await web.until('the line and its echo', ({ lines }) => lines.filter((line) => line === 'first line').length === 2);
  await page.getByRole('button', { name: 'Ctrl+C' }).tap();
  await web.shows('^C');
  await page.getByRole('button', { name: 'Up', exact: true }).tap();
  await page.getByRole('button', { name: 'Enter', exact: true }).tap();
  await web.until('the command from the history', ({ lines }) => lines.filter((line) => line === '$ cat').length === 2);
  await page.getByRole('button', { name: 'Ctrl', exact: true }).tap();
  await page.getByRole('textbox', { name: 'Prompt for web' }).fill('z');
  await page.getByRole('button', { name: 'Send' }).tap();
  await web.shows('Stopped');

  // None of it has changed the size of the terminals, and nothing is wider than the window.
  expect([await daemon.size('api'), await daemon.size('web')]).toEqual(['100x30', '100x30']);
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(390);
});

test('the drawer stays open when the first list arrives', async ({ page, daemon }) => {
  await daemon.session('api');
  let release = (): void => {};
  const held = new Promise<void>((resolve) => (release = resolve));
  await page.routeWebSocket(/\/api\/control/u, (socket) => {
    const server = socket.connectToServer();
    server.onMessage((message) => void held.then(() => socket.send(message)));
  });
  await signIn(page, daemon);
  await page.getByRole('button', { name: 'Sessions' }).tap();
  await expect(page.getByRole('navigation', { name: 'Sessions' })).toBeVisible();
  release();
  await terminal(page, 'api').shows('$');
  await expect(row(page, 'api')).toBeVisible();
});

test('a swipe leads to the next terminal', async ({ page, context, daemon }) => {
  await daemon.session('api');
  await daemon.session('web');
  await signIn(page, daemon);
  await terminal(page, 'api').shows('$');
  const touch = await context.newCDPSession(page);
  const swipe = async (from: number, to: number) => {
    await touch.send('Input.dispatchTouchEvent', { type: 'touchStart', touchPoints: [{ x: from, y: 400 }] });
    await touch.send('Input.dispatchTouchEvent', { type: 'touchMove', touchPoints: [{ x: to, y: 400 }] });
    await touch.send('Input.dispatchTouchEvent', { type: 'touchEnd', touchPoints: [] });
  };
  const title = page.getByRole('heading', { level: 1 });
  await expect(async () => {
    await swipe(300, 80);
    await expect(title).toContainText('web', { timeout: 2000 });
  }).toPass();
  await terminal(page, 'web').shows('$');
});

test('approvals have large buttons', async ({ page, daemon }) => {
  await screenAgent(daemon, 'api');
  await signIn(page, daemon);
  await daemon.swb('send', 'api', 'ask make install', '--enter');
  await page.getByRole('button', { name: 'Approvals, 1 waiting' }).tap();
  const card = page.getByRole('complementary', { name: 'Approvals' }).getByRole('article');
  await expect(card).toContainText('make install');
  for (const button of await card.locator('.decision').getByRole('button').all()) {
    expect((await button.boundingBox())?.height).toBeGreaterThanOrEqual(44);
  }
  await card.getByRole('button', { name: /^Yes *y?$/ }).tap();
  await daemon.shows('api', 'it ran once');
  expect(await daemon.size('api')).toBe('120x40');
});

test('a phone watches until its user decides to type', async ({ page, daemon }) => {
  await daemon.session('api', { size: '100x30' });
  await signIn(page, daemon);
  await terminal(page, 'api').shows('$');
  await expect(page.getByText('Watching')).toBeVisible();
  await page.getByRole('button', { name: 'Actions for api' }).tap();
  await page.getByRole('menuitem', { name: /Fit the terminal/ }).tap();
  await expect(page.getByText('Watching')).toBeHidden();
  await expect.poll(() => daemon.size('api')).not.toBe('100x30');
});

test('the page can be installed', async ({ page, daemon }) => {
  await signIn(page, daemon);
  const manifest = await page.evaluate(async () => {
    const link = document.querySelector<HTMLLinkElement>('link[rel="manifest"]');
    const reply = await fetch(link?.href ?? '');
    return { type: reply.headers.get('content-type'), body: (await reply.json()) as { name: string; display: string; icons: { src: string; sizes: string }[] } };
  });
  expect(manifest.type).toContain('manifest');
  expect(manifest.body.display).toBe('standalone');
  for (const { src } of manifest.body.icons) {
    expect(await page.evaluate(async (address) => (await fetch(address)).status, src)).toBe(200);
  }
});

test('a program that has ended is offered neither keys nor prompts', async ({ page, daemon }) => {
  await daemon.session('job', { argv: ['sh', '-c', 'echo done'] });
  await signIn(page, daemon);
  await expect(page.getByText('Exited with code 0')).toBeVisible();
  await expect(page.getByRole('toolbar', { name: 'Keys' })).toBeHidden();
  await expect(page.getByRole('textbox', { name: 'Prompt for job' })).toBeHidden();
});
