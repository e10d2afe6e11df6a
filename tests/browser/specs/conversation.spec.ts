import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Page } from '@playwright/test';
import { modelAgent } from '../support/agents';
import { expect, reload, row, signIn, test } from '../support/fixtures';

const PLAN = '## Plan\n\n1. read the **file**\n2. change `limit`\n\n| step | state |\n|---|---|\n| one | done |\n\n<script>alert(1)</script> stays text';

/** Starts a conversation with the model in a directory, as a person does. */
async function converse(page: Page, directory: string, name: string): Promise<void> {
  await page.getByRole('button', { name: 'New session' }).first().click();
  const dialog = page.getByRole('dialog', { name: 'New session' });
  await dialog.getByLabel('Directory').fill(directory);
  await dialog.getByRole('button', { name: 'model' }).click();
  await dialog.getByLabel('Name').fill(name);
  await dialog.getByRole('button', { name: 'Create' }).click();
  await expect(dialog).toBeHidden();
  await expect(page.getByRole('log', { name: `Conversation with ${name}` })).toBeVisible();
}

async function say(page: Page, name: string, text: string): Promise<void> {
  const field = page.getByRole('textbox', { name: `Message to ${name}` });
  await expect(field).toBeEnabled();
  await field.fill(text);
  await field.press('Enter');
}

test('an answer is streamed as Markdown, and text is never code of the page', async ({ page, daemon }) => {
  await modelAgent(daemon, [{ match: 'plan', text: PLAN, chunk: 7 }]);
  await signIn(page, daemon);
  await converse(page, daemon.workspace('talk'), 'talk');
  await say(page, 'talk', 'what is the plan?');
  const log = page.getByRole('log', { name: 'Conversation with talk' });
  await expect(log.getByRole('heading', { name: 'Plan' })).toBeVisible();
  await expect(log.getByRole('listitem')).toHaveCount(2);
  await expect(log.locator('strong')).toHaveText('file');
  await expect(log.getByRole('cell', { name: 'done' })).toBeVisible();
  await expect(log).toContainText('<script>alert(1)</script> stays text');
  await expect(log).toHaveAttribute('aria-busy', 'false');
  await reload(page);
  await row(page, 'talk').click();
  await expect(page.getByRole('log', { name: 'Conversation with talk' }).getByRole('heading', { name: 'Plan' })).toBeVisible();
});

test('a tool call waits for a decision, shows what it changes, and is folded afterwards', async ({ page, context, daemon }) => {
  const edit = { name: 'edit_file', input: { path: 'a.txt', old_text: 'two', new_text: 'zwei' } };
  await modelAgent(daemon, [
    { match: 'go', after_tool: false, tool: edit },
    { match: 'go', after_tool: true, text: 'It is done.' },
  ]);
  const file = path.join(daemon.workspace('talk'), 'a.txt');
  writeFileSync(file, 'one\ntwo\nthree\n');
  await signIn(page, daemon);
  await converse(page, daemon.workspace('talk'), 'talk');
  await say(page, 'talk', 'go');
  const log = page.getByRole('log', { name: 'Conversation with talk' });
  await expect(log.getByText('a.txt').first()).toBeVisible();
  await expect(log.getByText('zwei').filter({ visible: true }).first()).toBeVisible();
  await expect(page.getByRole('button', { name: 'Approvals' })).toContainText('1');
  expect(readFileSync(file, 'utf8')).toContain('two');
  // Another page sees the same.
  const other = await context.newPage();
  await signIn(other, daemon);
  await row(other, 'talk').click();
  await expect(other.getByRole('log', { name: 'Conversation with talk' }).getByText('zwei').filter({ visible: true }).first()).toBeVisible();

  await log.getByRole('button', { name: /^Allow/u }).first().click();
  await expect(log).toContainText('It is done.');
  expect(readFileSync(file, 'utf8')).toBe('one\nzwei\nthree\n');
  await expect(log.locator('details').first()).not.toHaveAttribute('open', '');
  await expect(other.getByRole('log', { name: 'Conversation with talk' })).toContainText('It is done.');
});

test('a question comes first in the list and is answered on its card', async ({ page, daemon }) => {
  const ask = { name: 'ask_user', input: { question: 'Which colour?', options: ['red', 'blue'] } };
  await modelAgent(daemon, [
    { match: 'go', after_tool: false, tool: ask },
    { match: 'go', after_tool: true, text: 'It is blue now.' },
  ]);
  await daemon.session('api');
  await signIn(page, daemon);
  await converse(page, daemon.workspace('talk'), 'talk');
  await say(page, 'talk', 'go');
  const log = page.getByRole('log', { name: 'Conversation with talk' });
  await expect(log.getByRole('form', { name: 'Question' })).toBeVisible();
  await row(page, 'api').click();
  await expect(page.getByRole('region', { name: 'Waiting for you' })).toContainText('talk');
  await expect(page).toHaveTitle(/^\(1\)/u);
  await page.getByRole('button', { name: 'Approvals' }).click();
  const card = page.getByRole('article', { name: 'talk asks' });
  await expect(card).toContainText('Asks a question');
  await card.getByRole('button', { name: 'Open the conversation' }).click();
  await log.getByLabel('blue').check();
  await log.getByRole('button', { name: 'Answer' }).click();
  await expect(log).toContainText('It is blue now.');
  await expect(page).toHaveTitle(/^[^(]/u);
  await expect(page.getByRole('region', { name: 'Waiting for you' })).toBeHidden();
});

test('an answer is stopped', async ({ page, daemon }) => {
  const lines = Array.from({ length: 400 }, (_, i) => `line ${i}`);
  await modelAgent(daemon, [{ match: 'count', lines, chunk: 1, delay_ms: 50 }]);
  await signIn(page, daemon);
  await converse(page, daemon.workspace('talk'), 'talk');
  await say(page, 'talk', 'count');
  const log = page.getByRole('log', { name: 'Conversation with talk' });
  await expect(log).toContainText('line 3');
  await page.getByRole('button', { name: 'Stop the answer' }).click();
  await expect(log).toHaveAttribute('aria-busy', 'false');
  await expect(log).not.toContainText('line 399');
});

test('a program that is not recognised is not shown as working', async ({ owner, daemon }) => {
  await daemon.script('plain', 'exec cat');
  await row(owner, 'plain').click();
  await owner.getByRole('tab', { name: 'Conversation' }).click();
  await say(owner, 'plain', 'hello');
  const log = owner.getByRole('log', { name: 'Conversation with plain' });
  await expect(log.getByRole('status')).toContainText('Not every program is recognised');
  await expect(log).not.toContainText('Working');
});
