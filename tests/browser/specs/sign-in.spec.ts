import { expect, signIn, terminal, test } from '../support/fixtures';

// CO-43, CO-70
test('the token leaves the address bar and stays in a cookie that scripts cannot read', async ({ page, context, daemon }) => {
  const { url, port, token } = await daemon.web();
  await daemon.session('api');
  const first = await page.goto(url);
  expect(first?.status()).toBe(200);
  await page.waitForURL(`http://127.0.0.1:${port}/`);
  await terminal(page, 'api').shows('$');

  const cookies = await context.cookies();
  expect(cookies).toHaveLength(1);
  expect(cookies[0]).toMatchObject({ name: `swb-${port}`, httpOnly: true, sameSite: 'Strict', secure: false });
  expect(await page.evaluate(() => document.cookie)).toBe('');
  const kept = await page.evaluate(() => JSON.stringify([location.href, document.referrer, { ...localStorage }, { ...sessionStorage }]));
  expect(kept).not.toContain(token);

  // Nor does the history lead back to it.
  await page.goBack().catch(() => null);
  expect(page.url()).not.toContain('token');
});

test('a wrong token shows the sign-in page, and the right one signs in', async ({ page, daemon }) => {
  const { port, token } = await daemon.web();
  const refused = await page.goto(`http://127.0.0.1:${port}/?token=wrong`);
  expect(refused?.status()).toBe(403);
  await expect(page.getByRole('alert')).not.toBeEmpty();

  const field = page.getByLabel('Token');
  await expect(field).toBeFocused();
  await field.fill('also wrong');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await expect(page.getByRole('alert')).not.toBeEmpty();

  await page.getByLabel('Token').fill(token);
  await page.keyboard.press('Enter');
  await page.waitForURL(`http://127.0.0.1:${port}/`);
  await expect(page.getByRole('navigation', { name: 'Sessions' })).toBeVisible();
});

test('without a token there is only the sign-in page', async ({ page, daemon }) => {
  const { port } = await daemon.web();
  await daemon.session('secret-name');
  const refused = await page.goto(`http://127.0.0.1:${port}/`);
  expect(refused?.status()).toBe(403);
  await expect(page.getByLabel('Token')).toBeVisible();
  await expect(page.getByRole('alert')).toBeHidden();
  expect(await page.content()).not.toContain('secret-name');
});

test('the first terminal is painted soon after sign-in', async ({ page, daemon }) => {
  await daemon.session('api');
  await daemon.shows('api', '$');
  await signIn(page, daemon);
  await terminal(page, 'api').shows('$');
  await page.waitForFunction(() => performance.getEntriesByName('swb-first-paint').length > 0);
  const paint = await page.evaluate(() => performance.getEntriesByName('swb-first-paint')[0]?.startTime ?? Infinity);
  // The page proper, behind the exchange of the token; a second time it comes from the cache.
  console.log(`first terminal paint: ${Math.round(paint)} ms after the start of the navigation`);
  await page.reload();
  await page.waitForFunction(() => performance.getEntriesByName('swb-first-paint').length > 0);
  const again = await page.evaluate(() => performance.getEntriesByName('swb-first-paint')[0]?.startTime ?? Infinity);
  console.log(`first terminal paint: ${Math.round(again)} ms after a reload`);
  expect(Math.max(paint, again)).toBeLessThan(10_000);
});
