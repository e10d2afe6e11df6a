import { screenAgent } from '../support/agents';
import { expect, open, row, test } from '../support/fixtures';

test('a turn is read, copied and relayed to another session', async ({ owner, context, daemon }) => {
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  await screenAgent(daemon, 'api', 'api');
  // Takes pastes, and shows every byte that it gets; Enter is `^M`.
  await daemon.script('review', String.raw`stty raw -echo; printf '\033[?2004hgo\r\n'; exec cat -v`);
  await daemon.shows('review', 'go');
  await open(owner, 'api');
  await owner.getByRole('tab', { name: 'Turns' }).click();
  await expect(owner.getByText('No turns yet')).toBeVisible();

  const composer = owner.getByRole('textbox', { name: 'Prompt for api' });
  await composer.fill('say the tests pass now');
  await composer.press('Enter');
  const turn = owner.getByRole('article', { name: /^Turn / });
  await expect(turn).toContainText('the tests pass now');
  await expect(composer).toHaveValue('');

  await turn.getByRole('button', { name: 'Copy this turn' }).click();
  await expect.poll(() => owner.evaluate(() => navigator.clipboard.readText())).toContain('the tests pass now');

  await turn.getByRole('button', { name: 'Relay this turn to…' }).click();
  const dialog = owner.getByRole('dialog', { name: 'Relay a turn' });
  await expect(dialog.getByRole('button', { name: /api/ })).toBeHidden();
  await dialog.getByLabel('Press Enter after the text').check();
  await dialog.getByRole('button', { name: /review/ }).click();
  await expect(dialog).toBeHidden();
  await expect(owner.locator('.notice').filter({ hasText: 'to review' })).toBeVisible();
  const review = await open(owner, 'review');
  // As one paste, with Enter behind it.
  await review.shows(/\^\[\[200~[^]*the tests pass now[^]*\^\[\[201~[^]*\^M/u);
});

test('a prompt that is refused stays in its field', async ({ owner, daemon }) => {
  await daemon.session('api');
  const api = await open(owner, 'api');
  await api.shows('$');
  await api.enter('cat');
  await daemon.swb('wait', 'api', '--until', 'working').catch(() => {});
  await owner.getByRole('tab', { name: 'Turns' }).click();
  const field = owner.getByRole('textbox', { name: 'Prompt for api' });
  await field.fill('something that took a while to write');
  await field.press('Enter');
  await expect(owner.locator('.notice-error')).toBeVisible();
  await expect(field).toHaveValue('something that took a while to write');
});

test('the turns of a session grow while they are shown', async ({ owner, daemon }) => {
  await screenAgent(daemon, 'api');
  await open(owner, 'api');
  await owner.getByRole('tab', { name: 'Turns' }).click();
  const turns = owner.getByRole('article', { name: /^Turn / });
  for (const [i, text] of ['one apple', 'two pears', 'three plums'].entries()) {
    await daemon.swb('ask', 'api', `say ${text}`);
    await expect(turns).toHaveCount(i + 1);
    await expect(turns.last()).toContainText(text);
  }
  // What a transcript has is Markdown; terminal text never is HTML.
  await daemon.swb('ask', 'api', 'note **bold** and `code` and <b id=injected>tag</b>');
  await expect(turns).toHaveCount(4);
  await expect(turns.last().locator('strong')).toHaveText('bold');
  await expect(turns.last().locator('code')).toHaveText('code');
  await expect(owner.locator('#injected')).toHaveCount(0);
});

test('a session that asks comes first and is counted in the title', async ({ owner, daemon }) => {
  await screenAgent(daemon, 'api');
  await screenAgent(daemon, 'zoo');
  await open(owner, 'api');
  await expect(owner).toHaveTitle(/^[^(]/u);
  await daemon.swb('send', 'zoo', 'ask make install', '--enter');
  await expect(owner.getByRole('region', { name: 'Waiting for you' })).toContainText('zoo');
  await expect(owner).toHaveTitle(/^\(1\)/u);
  await expect(row(owner, 'zoo')).toHaveCount(1);
});
