import type { Page } from '@playwright/test';
import { ACP_CONFIG, screenAgent } from '../support/agents';
import { expect, open, terminal, test } from '../support/fixtures';
import { waitFor } from '../support/patience';
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
  test.use({ config: ACP_CONFIG });

  /** Starts a conversation and shows it. */
  async function converse(page: Page, daemon: Daemon): Promise<void> {
    await daemon.swb('chat', '--new', 'talk', '-m', 'say:hello **there**');
    await page.locator('[data-session-row]').filter({ hasText: 'talk' }).click();
    await page.getByRole('tab', { name: 'Conversation' }).click();
    await expect(page.getByRole('log', { name: 'Conversation with talk' }).locator('strong')).toHaveText('there');
  }

  async function send(page: Page, text: string): Promise<void> {
    const field = page.getByRole('textbox', { name: 'Message to talk' });
    await field.fill(text);
    await field.press('Enter');
  }

  test('a tool call is allowed on its card', async ({ owner, daemon }) => {
    await converse(owner, daemon);
    await send(owner, 'permit:cargo test');
    const log = owner.getByRole('log', { name: 'Conversation with talk' });
    const card = log.getByRole('region', { name: /^Approval/ });
    await expect(card).toContainText('cargo test');
    await card.getByRole('button', { name: /^Yes *y?$/ }).click();
    await expect(log).toContainText('permit: yes');
    await expect(card.getByRole('button')).toHaveCount(0);
  });

  test('y in the inbox decides it too, and every page sees that', async ({ owner, context, daemon }) => {
    await converse(owner, daemon);
    const other = await context.newPage();
    await other.goto((await daemon.web()).url);
    await expect(other.locator('[data-session-row]')).toHaveCount(1);
    await send(owner, 'permit:cargo test');
    const log = owner.getByRole('log', { name: 'Conversation with talk' });
    await expect(log.getByRole('region', { name: /^Approval/ })).toContainText('cargo test');
    await other.bringToFront();
    await expect(other.getByRole('button', { name: 'Approvals' })).toContainText('1');
    await other.getByRole('button', { name: 'Approvals' }).click();
    await expect(other.getByRole('complementary', { name: 'Approvals' }).getByRole('article')).toContainText('cargo test');
    await other.keyboard.press('y');
    await expect(other.getByText('Nothing to decide')).toBeVisible();
    await owner.bringToFront();
    await expect(log).toContainText('permit: yes');
    await expect(log.getByRole('region', { name: /^Approval/ }).getByRole('button')).toHaveCount(0);
  });

  test('an answer streams, folds its tools, and can be stopped', async ({ owner, daemon }) => {
    await converse(owner, daemon);
    const log = owner.getByRole('log', { name: 'Conversation with talk' });
    await send(owner, 'think:let me see;tool:read:main.rs;diff:src/a.rs:old:new;chunks:30;stall');
    await expect(log).toContainText('28 29');
    const tool = log.locator('details.tool').first();
    await expect(tool).not.toHaveAttribute('open');
    await tool.locator('summary').click();
    await expect(tool).toContainText('result of main.rs');
    await owner.getByRole('button', { name: 'Stop the answer' }).click();
    await expect(owner.getByRole('button', { name: 'Stop the answer' })).toBeHidden();
    await send(owner, 'say:again');
    await expect(log).toContainText('again');
    // A reload shows the same conversation.
    await owner.reload();
    await expect(log).toContainText('28 29');
    await expect(log.locator('details.tool').first()).toContainText('main.rs');
  });
});
