import { expect, open, row, signIn, terminal, test } from '../support/fixtures';

test('a session is created on the page, takes input and shows output', async ({ owner, daemon }) => {
  await owner.getByRole('navigation').getByRole('button', { name: 'New session' }).first().click();
  const dialog = owner.getByRole('dialog', { name: 'New session' });
  await dialog.getByLabel('Directory').fill(daemon.workspace('shop'));
  await dialog.getByLabel('Command').fill('bash');
  await dialog.getByLabel('Name').fill('api');
  await dialog.getByRole('button', { name: 'Create' }).click();
  await expect(dialog).toBeHidden();

  const api = terminal(owner, 'api');
  await api.shows('$');
  // The new terminal has the keyboard already.
  await expect(owner.getByRole('textbox', { name: 'Terminal of api' })).toBeFocused();
  await owner.keyboard.type('echo $((6*7)) "$PWD"\n');
  await api.shows(`42 ${daemon.workspace('shop')}`);
  await expect(row(owner, 'api')).toHaveAttribute('aria-current', 'true');
  await expect(owner.getByRole('region', { name: daemon.workspace('shop') })).toContainText('api');
});

test('a failure to create a session is shown in the dialog', async ({ owner, daemon }) => {
  await owner.getByRole('navigation').getByRole('button', { name: 'New session' }).first().click();
  const dialog = owner.getByRole('dialog', { name: 'New session' });
  await dialog.getByLabel('Directory').fill(`${daemon.workspace('')}/missing`);
  await dialog.getByLabel('Command').fill('bash');
  await dialog.getByRole('button', { name: 'Create' }).click();
  await expect(dialog.getByRole('alert')).not.toBeEmpty();
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  await expect(dialog).toBeHidden();
});

test('a shell opens in a tab beside the agent', async ({ owner, daemon }) => {
  await daemon.session('api');
  await open(owner, 'api');
  await owner.getByRole('button', { name: 'New shell' }).click();
  await expect(owner.getByRole('tab', { name: 'Shell 1' })).toHaveAttribute('aria-selected', 'true');
  const shell = terminal(owner, 'api', 1);
  await shell.shows(/^[$#]$/mu);
  await shell.enter('echo shell-$((1+1))');
  await shell.shows('shell-2');
  await owner.getByRole('tab', { name: 'Agent' }).click();
  const agent = terminal(owner, 'api');
  await agent.shows('$');
  expect(await agent.text()).not.toContain('shell-2');
});

test('kill needs a confirmation and removes the session from the page', async ({ owner, daemon }) => {
  await daemon.session('api');
  await daemon.session('web');
  await open(owner, 'api');
  const menu = owner.getByRole('button', { name: 'Actions for api' });
  await menu.click();
  await owner.getByRole('menuitem', { name: 'Kill this session…' }).click();
  const dialog = owner.getByRole('dialog', { name: 'Kill api' });
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  expect(await daemon.size('api')).toMatch(/^\d+x\d+$/u);

  await menu.click();
  await owner.getByRole('menuitem', { name: 'Kill this session…' }).click();
  await dialog.getByRole('button', { name: 'Kill', exact: true }).click();
  await expect(dialog).toBeHidden();
  await expect.poll(async () => (await daemon.swb('ls', '--json')).includes('"api"')).toBe(false);
  await expect(row(owner, 'web')).toBeVisible();
});

test('a restart of the agent needs a confirmation', async ({ owner, daemon }) => {
  await daemon.script('api', 'echo started; exec cat');
  const api = await open(owner, 'api');
  await api.shows('started');
  const starts = async () => (await daemon.swb('logs', 'api')).split('started').length - 1;
  const dialog = owner.getByRole('dialog', { name: 'Restart the agent of api' });
  const menu = owner.getByRole('button', { name: 'Actions for api' });
  await menu.click();
  await owner.getByRole('menuitem', { name: 'Restart the agent…' }).click();
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  await expect(dialog).toBeHidden();
  // All that was sent for a restart has arrived before this.
  await api.enter('still the first');
  await api.shows('still the first');
  expect(await starts()).toBe(1);
  await menu.click();
  await owner.getByRole('menuitem', { name: 'Restart the agent…' }).click();
  await dialog.getByRole('button', { name: 'Restart', exact: true }).click();
  await expect.poll(starts).toBe(2);
});

test('sessions that have ended are listed apart from those that run', async ({ owner, daemon }) => {
  await daemon.script('alpha', 'exit 3');
  await daemon.session('beta');
  const ended = owner.getByRole('region', { name: 'Ended' });
  await expect(ended).toContainText('alpha');
  await expect(ended).not.toContainText('beta');
  await expect(owner.getByRole('region', { name: daemon.workspace('') })).not.toContainText('alpha');
});

test('several tabs show the same terminal', async ({ owner, context, daemon }) => {
  await daemon.session('api');
  const first = await open(owner, 'api');
  await first.shows('$');
  const page = await context.newPage();
  await signIn(page, daemon);
  const second = await open(page, 'api');
  await second.shows('$');
  await first.enter('echo from-$((1))-first');
  await second.shows('from-1-first');
  await second.enter('echo from-$((2))-second');
  await first.shows('from-2-second');
  const [one, two] = [await first.read(), await second.read()];
  expect(one?.lines).toEqual(two?.lines);
  await expect(row(owner, 'api').locator('.session-clients')).toHaveText('2');
});

test('a session that another client creates appears by itself', async ({ owner, daemon }) => {
  await expect(owner.getByText('No sessions')).toBeVisible();
  await daemon.session('api', { workspace: 'shop' });
  await expect(row(owner, 'api')).toBeVisible();
  await daemon.swb('send', 'api', 'echo last-line-of-it', '--enter');
  await expect(row(owner, 'api')).toContainText('last-line-of-it');
});

test('the end of a command is shown with its exit code', async ({ owner, daemon }) => {
  await daemon.session('api');
  const api = await open(owner, 'api');
  await api.shows('$');
  await daemon.swb('send', 'api', 'exit 7', '--enter');
  await expect(owner.getByText('Exited with code 7').or(owner.getByText('api has ended')).first()).toBeVisible();
});
