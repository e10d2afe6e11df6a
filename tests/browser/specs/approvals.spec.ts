import type { Locator, Page } from '@playwright/test';
import { screenAgent } from '../support/agents';
import { expect, open, reload, row, signIn, terminal, test } from '../support/fixtures';
import { waitFor } from '../support/wait';
import type { Daemon } from '../support/daemon';

/** Makes an agent in a terminal ask for a permission, and waits until the daemon lists it. */
async function asks(daemon: Daemon, session: string, command: string): Promise<void> {
  await daemon.swb('send', session, `ask ${command}`, '--enter');
  await waitFor(`the approval of ${command}`, async () => (await daemon.swb('approvals', '--json')).includes(command));
}

async function openInbox(page: Page): Promise<void> {
  await page.keyboard.press('Control+Shift+A');
  await expect(page.getByRole('complementary', { name: 'Approvals' })).toBeFocused();
}

test('the inbox collects approvals of all sessions, and y and n decide them', async ({ owner, daemon }) => {
  await screenAgent(daemon, 'api', 'api');
  await screenAgent(daemon, 'web', 'web');
  await open(owner, 'api');
  await asks(daemon, 'api', 'make install');
  await asks(daemon, 'web', 'rm -rf dist');
  await expect(owner.getByRole('button', { name: 'Approvals' })).toContainText('2');
  await openInbox(owner);
  const cards = owner.getByRole('complementary', { name: 'Approvals' }).getByRole('article');
  await expect(cards).toHaveCount(2);
  await expect(cards.first()).toContainText('make install');
  await expect(cards.nth(1)).toContainText('rm -rf dist');

  await owner.keyboard.press('y');
  await terminal(owner, 'api').shows('it ran once');
  await expect(cards).toHaveCount(1);
  await owner.keyboard.press('n');
  await daemon.shows('web', 'it was denied');
  await expect(owner.getByText('Nothing to decide')).toBeVisible();
  await owner.keyboard.press('Escape');
  await expect(owner.getByRole('complementary', { name: 'Approvals' })).toBeHidden();
});

test('an approval is decided with the mouse, for good', async ({ owner, daemon }) => {
  await screenAgent(daemon, 'api');
  await open(owner, 'api');
  await asks(daemon, 'api', 'make install');
  await owner.getByRole('button', { name: 'Approvals' }).click();
  const card = owner.getByRole('complementary', { name: 'Approvals' }).getByRole('article');
  await card.getByRole('button', { name: /don't ask again/ }).click();
  await terminal(owner, 'api').shows('it runs always');
  await expect(card).toHaveCount(0);
});

test.describe('in a conversation', () => {
  /** Begins a conversation with an agent in a terminal, and shows it. */
  async function converse(page: Page, daemon: Daemon): Promise<Locator> {
    await screenAgent(daemon, 'talk');
    await daemon.swb('chat', 'talk', '-m', 'say hello there');
    await row(page, 'talk').click();
    await page.getByRole('tab', { name: 'Conversation' }).click();
    const log = page.getByRole('log', { name: 'Conversation with talk' });
    await expect(log).toContainText('hello there');
    return log;
  }

  async function send(page: Page, text: string): Promise<void> {
    const field = page.getByRole('textbox', { name: 'Message to talk' });
    await field.fill(text);
    await field.press('Enter');
  }

  test('a tool call is allowed on its card', async ({ owner, daemon }) => {
    const log = await converse(owner, daemon);
    await send(owner, 'ask cargo test');
    const card = log.getByRole('region', { name: /^Approval/ });
    await expect(card).toContainText('cargo test');
    await card.getByRole('button', { name: /^Yes *y?$/ }).click();
    await expect(log).toContainText('it ran once');
    await expect(card.getByRole('button')).toHaveCount(0);
  });

  test('y in the inbox decides it too, and every page sees that', async ({ owner, context, daemon }) => {
    const log = await converse(owner, daemon);
    const other = await context.newPage();
    await signIn(other, daemon);
    await send(owner, 'ask cargo test');
    const card = log.getByRole('region', { name: /^Approval/ });
    await expect(card).toContainText('cargo test');
    await other.bringToFront();
    await expect(other.getByRole('button', { name: 'Approvals' })).toContainText('1');
    await other.getByRole('button', { name: 'Approvals' }).click();
    await expect(other.getByRole('complementary', { name: 'Approvals' }).getByRole('article')).toContainText('cargo test');
    await other.keyboard.press('y');
    await expect(other.getByText('Nothing to decide')).toBeVisible();
    await owner.bringToFront();
    await expect(log).toContainText('it ran once');
    await expect(card.getByRole('button')).toHaveCount(0);
  });

  test('an answer can be stopped, and the conversation is there after a reload', async ({ owner, daemon }) => {
    const log = await converse(owner, daemon);
    await send(owner, 'work');
    await expect(log.getByRole('status')).toContainText('Working');
    await daemon.shows('talk', 'begun');
    await owner.getByRole('button', { name: 'Stop the answer' }).click();
    await expect(owner.getByRole('button', { name: 'Stop the answer' })).toBeHidden();
    await send(owner, 'say once more');
    await expect(log).toContainText('once more');
    await reload(owner);
    await expect(log).toContainText('hello there');
    await expect(log).toContainText('once more');
  });
});
