import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Page } from '@playwright/test';
import { type Daemon, REPOSITORY } from '../support/daemon';
import { expect, open, row, terminal, test } from '../support/fixtures';
import { palettePng } from './palette-png';
import { openPage, sampleSessions } from './scene';

const PICTURES = path.join(REPOSITORY, 'docs/screenshots');

async function take(page: Page, daemon: Daemon, name: string): Promise<void> {
  // Notices come and go; a picture has none.
  await expect(page.locator('.notice')).toHaveCount(0);
  await page.evaluate(() => document.fonts.ready);
  await settled(page, daemon);
  const picture = palettePng(await page.screenshot({ animations: 'disabled', caret: 'hide' }));
  mkdirSync(PICTURES, { recursive: true });
  writeFileSync(path.join(PICTURES, `${name}.png`), picture);
  console.log(`docs/screenshots/${name}.png: ${Math.round(picture.length / 1024)} KiB`);
}

/** Waits until every terminal on the page has the size that its pane has room for. */
async function settled(page: Page, daemon: Daemon): Promise<void> {
  for (const name of ['api', 'web', 'docs']) {
    const shown = terminal(page, name);
    // A phone watches.
    if ((await shown.read()) && (await page.locator('[data-phone="true"]').count()) === 0) await shown.settled(daemon);
  }
}

/** The agent on the left, the shell on the right. */
async function splitView(page: Page): Promise<void> {
  await (await open(page, 'api')).shows('214 tests');
  await page.getByRole('button', { name: 'Split to the right' }).click();
  await (await open(page, 'web')).shows('5173');
  await terminal(page, 'api').shows('214 tests');
}

test.use({ colorScheme: 'dark', contextOptions: { reducedMotion: 'reduce' }, locale: 'en-GB', timezoneId: 'UTC' });

test.describe('desktop', () => {
  test.use({ viewport: { width: 1440, height: 900 } });

  test('views', async ({ page, daemon }) => {
    await sampleSessions(daemon);
    await openPage(page, daemon);
    await splitView(page);
    await take(page, daemon, 'sessions');
    await page.emulateMedia({ colorScheme: 'light' });
    await take(page, daemon, 'sessions-light');
    await page.emulateMedia({ colorScheme: 'dark' });
    await page.keyboard.press('Control+k');
    await expect(page.getByRole('combobox')).toBeFocused();
    await page.keyboard.type('sp');
    await take(page, daemon, 'palette');
    await page.keyboard.press('Escape');
    await page.keyboard.press('Control+Shift+A');
    await expect(page.getByRole('complementary', { name: 'Approvals' }).getByRole('article')).toHaveCount(1);
    await take(page, daemon, 'inbox');
  });
});

test.describe('tablet', () => {
  test.use({ viewport: { width: 1024, height: 768 } });

  test('views', async ({ page, daemon }) => {
    await sampleSessions(daemon);
    await openPage(page, daemon);
    await (await open(page, 'docs')).shows('❯');
    await take(page, daemon, 'agent');
    await open(page, 'api');
    await page.getByRole('tab', { name: 'Turns' }).click();
    await expect(page.getByRole('article', { name: /^Turn / })).toHaveCount(2);
    await expect(page.getByRole('article', { name: /^Turn / }).last()).toContainText('214 tests');
    await take(page, daemon, 'turns');
    await page.emulateMedia({ colorScheme: 'light' });
    await take(page, daemon, 'turns-light');
    await page.emulateMedia({ colorScheme: 'dark' });
    await page.getByRole('tab', { name: 'Conversation' }).click();
    await expect(page.getByRole('log', { name: 'Conversation with api' })).toContainText('214 tests');
    await page.getByRole('textbox', { name: 'Message to api' }).fill('Apply the migration as well.');
    await page.keyboard.press('Enter');
    await expect(page.getByRole('region', { name: /^Approval/ })).toContainText('sqlx');
    // What waits here is in the list and in the number, too.
    await expect(page.getByRole('button', { name: 'Approvals' })).toContainText('2');
    await expect(row(page, 'api')).toContainText('Do you want to proceed?');
    await take(page, daemon, 'conversation');
  });
});

test.describe('phone', () => {
  test.use({ viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true });

  test('views', async ({ page, daemon }) => {
    await sampleSessions(daemon);
    await openPage(page, daemon);
    await page.getByRole('button', { name: 'Sessions' }).tap();
    await row(page, 'web').tap();
    await terminal(page, 'web').shows('5173');
    await take(page, daemon, 'phone-terminal');
    await page.getByRole('button', { name: 'Sessions' }).tap();
    await expect(row(page, 'deploy')).toBeVisible();
    await expect(row(page, 'web')).toContainText('Network');
    await take(page, daemon, 'phone-drawer');
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Close the list' }).tap({ position: { x: 360, y: 400 } }).catch(() => {});
    // A tap would leave its highlight in the picture.
    await page.getByRole('button', { name: /^Approvals/ }).first().dispatchEvent('click');
    await expect(page.getByRole('complementary', { name: 'Approvals' }).getByRole('article')).toContainText('sqlx');
    await take(page, daemon, 'phone-approval');
  });
});
