import type { Page } from '@playwright/test';
import { screenAgent } from '../support/agents';
import { expect, row, signIn, terminal, test } from '../support/fixtures';

/** The titles of everything that the palette offers. */
async function offered(page: Page): Promise<string[]> {
  await page.keyboard.press('Control+K');
  await expect(page.getByRole('combobox')).toBeFocused();
  const titles = await page.getByRole('option').locator('.palette-title').allTextContents();
  await page.keyboard.press('Escape');
  await expect(page.getByRole('dialog')).toBeHidden();
  return titles;
}

const CHANGES = /New session|New shell|Restart|Kill|Paste|Relay|filter|Ctrl\+K|typing/u;

test('a token for watching sees no controls that it may not use', async ({ page, daemon }) => {
  await screenAgent(daemon, 'api');
  await daemon.swb('ask', 'api', 'say hello there');
  await signIn(page, daemon, await daemon.token('--role', 'watch'));
  const api = terminal(page, 'api');
  await api.shows('hello there');
  await expect(page.getByText('Watching')).toBeVisible();
  for (const name of ['New session', 'New shell']) await expect(page.getByRole('button', { name })).toHaveCount(0);
  expect((await offered(page)).filter((title) => CHANGES.test(title))).toEqual([]);
  await page.getByRole('button', { name: 'Actions for api' }).click();
  const items = await page.getByRole('menuitem').allTextContents();
  expect(items.filter((title) => CHANGES.test(title))).toEqual([]);
  await page.keyboard.press('Escape');

  // Typing reaches nothing, and watching changes no size.
  await api.enter('typed by a watcher');
  await daemon.swb('ask', 'api', 'say second answer');
  await api.shows('second answer');
  expect(await api.text()).not.toContain('typed by a watcher');
  expect(await daemon.size('api')).toBe('120x40');

  await page.getByRole('tab', { name: 'Turns' }).click();
  const turns = page.getByRole('article', { name: /^Turn / });
  await expect(turns).toHaveCount(2);
  await expect(page.getByRole('button', { name: /Relay/ })).toHaveCount(0);
  await expect(page.getByRole('textbox', { name: /Prompt/ })).toHaveCount(0);

  await daemon.swb('send', 'api', 'ask make install', '--enter');
  await page.getByRole('button', { name: 'Approvals' }).click();
  const inbox = page.getByRole('complementary', { name: 'Approvals' });
  await expect(inbox.getByRole('article').or(inbox.getByText('Nothing to decide')).first()).toBeVisible();
  await expect(inbox.locator('.decision')).toHaveCount(0);
});

test('a token for prompts sends prompts and nothing else', async ({ page, daemon }) => {
  await screenAgent(daemon, 'api');
  await screenAgent(daemon, 'web');
  await signIn(page, daemon, await daemon.token('--role', 'prompt'));
  await terminal(page, 'api').until('the terminal', () => true);
  await expect(page.getByText('Watching')).toBeVisible();
  await expect(page.getByRole('button', { name: 'New session' })).toHaveCount(0);
  await page.getByRole('tab', { name: 'Turns' }).click();
  const composer = page.getByRole('textbox', { name: 'Prompt for api' });
  await composer.fill('say it works');
  await composer.press('Enter');
  await expect(page.getByRole('article', { name: /^Turn / })).toContainText('it works');
  await page.getByRole('button', { name: 'Relay this turn to…' }).click();
  await page.getByRole('dialog').getByRole('button', { name: /web/ }).click();
  await daemon.shows('web', 'it works');
  expect(await daemon.size('api')).toBe('120x40');
});

test('a token for approvals decides them and nothing else', async ({ page, daemon }) => {
  await screenAgent(daemon, 'api');
  await signIn(page, daemon, await daemon.token('--role', 'approve'));
  await daemon.swb('send', 'api', 'ask make install', '--enter');
  await expect(page.getByRole('button', { name: 'Approvals' })).toContainText('1');
  await page.getByRole('button', { name: 'Approvals' }).click();
  await expect(page.getByRole('complementary', { name: 'Approvals' }).getByRole('article')).toContainText('make install');
  await page.keyboard.press('y');
  await daemon.shows('api', 'it ran once');
  expect((await offered(page)).filter((title) => CHANGES.test(title))).toEqual([]);
});

test('a token for driving types, but does not own', async ({ page, daemon }) => {
  await daemon.session('api');
  await signIn(page, daemon, await daemon.token('--role', 'drive'));
  const api = terminal(page, 'api');
  await api.shows('$');
  await api.enter('echo driven-$((2*4))');
  await api.shows('driven-8');
  const titles = await offered(page);
  expect(titles.some((title) => title.startsWith('New session'))).toBe(true);
  expect(titles.filter((title) => /filter/u.test(title))).toEqual([]);
});

test('a token for one session sees that one only', async ({ page, daemon }) => {
  await daemon.session('api');
  await daemon.session('web');
  await signIn(page, daemon, await daemon.token('--role', 'drive', '--session', 'web'));
  await terminal(page, 'web').shows('$');
  await expect(page.locator('[data-session-row]')).toHaveCount(1);
  await expect(row(page, 'web')).toBeVisible();
  expect((await offered(page)).filter((title) => title.includes('api'))).toEqual([]);
});

test('revoking a token ends what it shows and explains why', async ({ page, daemon }) => {
  await daemon.session('api');
  await signIn(page, daemon, await daemon.token('--role', 'drive', '--label', 'tablet'));
  const api = terminal(page, 'api');
  await api.shows('$');
  await daemon.swb('token', 'revoke', 'tablet');
  await expect(page.getByRole('alert')).toContainText('signed out');
  await daemon.swb('send', 'api', 'echo after-$((1+1))', '--enter');
  await daemon.shows('api', 'after-2');
  expect(await api.text()).not.toContain('after-2');
  await page.getByRole('link', { name: 'Sign in again' }).click();
  await expect(page.getByLabel('Token')).toBeVisible();
});
