import { expect, signIn, terminal, test } from '../support/fixtures';

test('sessions are created, used and switched without a mouse', async ({ page, daemon }) => {
  await signIn(page, daemon);
  await expect(page.getByText('No sessions')).toBeVisible();
  for (const name of ['api', 'web']) {
    await page.keyboard.press('Control+K');
    await expect(page.getByRole('combobox')).toBeFocused();
    await page.keyboard.type('new session');
    await expect(page.getByRole('option', { selected: true })).toContainText('New session');
    await page.keyboard.press('Enter');
    const dialog = page.getByRole('dialog', { name: 'New session' });
    await expect(dialog.getByLabel('Command')).toBeFocused();
    await page.keyboard.type('bash');
    await page.keyboard.press('Shift+Tab');
    await expect(dialog.getByLabel('Directory')).toBeFocused();
    await page.keyboard.press('Control+A');
    await page.keyboard.type(daemon.workspace(name));
    await dialog.getByLabel('Name').press('Control+A');
    await page.keyboard.type(name);
    await page.keyboard.press('Enter');
    await expect(dialog).toBeHidden();
    await terminal(page, name).shows('$');
    await page.keyboard.type(`echo in-${name}-$((1+1))\n`);
    await terminal(page, name).shows(`in-${name}-2`);
  }

  const current = page.locator('[data-session-row][aria-current="true"]');
  await expect(current).toContainText('web');
  await page.keyboard.press('Control+Shift+ArrowUp');
  await expect(current).toContainText('api');
  await terminal(page, 'api').shows('in-api-2');
  // The keyboard is in the terminal at once.
  await page.keyboard.type('echo typed-$((3+4))\n');
  await terminal(page, 'api').shows('typed-7');

  // By the list.
  await page.keyboard.press('Control+Shift+L');
  await expect(current).toBeFocused();
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await expect(current).toContainText('web');

  // By the palette.
  await page.keyboard.press('Control+K');
  await page.keyboard.type('api');
  await expect(page.getByRole('option', { selected: true })).toContainText('api');
  await page.keyboard.press('Enter');
  await expect(current).toContainText('api');
});

test('panes are split, reached and closed without a mouse', async ({ page, daemon }) => {
  await daemon.session('api');
  await signIn(page, daemon);
  await terminal(page, 'api').shows('$');
  await expect(page.getByRole('textbox', { name: 'Terminal of api' })).toBeFocused();
  await page.keyboard.press('Control+Shift+E');
  await expect(page.locator('.pane')).toHaveCount(2);
  await expect(page.locator('.pane').nth(1)).toHaveAttribute('data-focused', 'true');
  await page.keyboard.press('Control+Shift+ArrowLeft');
  await expect(page.locator('.pane').nth(0)).toHaveAttribute('data-focused', 'true');
  await page.keyboard.press('Control+Shift+U');
  await expect(page.getByRole('log', { name: 'Turns of api' })).toBeVisible();
  await page.keyboard.press('Control+Shift+Backspace');
  await expect(page.locator('.pane')).toHaveCount(1);
  await terminal(page, 'api').shows('$');
});

test('the shortcuts are listed on ?, and the palette reaches every action', async ({ page, daemon }) => {
  await daemon.session('api');
  await signIn(page, daemon);
  await terminal(page, 'api').shows('$');
  // In a terminal it is a character.
  await page.keyboard.type('echo ?');
  await terminal(page, 'api').shows('$ echo ?');
  await expect(page.getByRole('dialog')).toBeHidden();
  await page.keyboard.press('Control+Shift+L');
  await expect(page.locator('[data-session-row]')).toBeFocused();
  await page.keyboard.press('?');
  const help = page.getByRole('dialog', { name: 'Keyboard shortcuts' });
  await expect(help).toBeVisible();
  const titles = await help.locator('dt').allTextContents();
  expect(titles.length).toBeGreaterThan(15);
  await page.keyboard.press('Escape');
  await expect(help).toBeHidden();

  await page.keyboard.press('Control+K');
  for (const title of titles.filter((text) => !/palette|Allow, deny/u.test(text))) {
    await page.getByRole('combobox').fill(title);
    await expect(page.getByRole('option', { selected: true })).toContainText(title);
  }
  await page.keyboard.press('Escape');
  await expect(page.getByRole('dialog')).toBeHidden();
  await expect(page.getByRole('textbox', { name: 'Terminal of api' })).toBeFocused();
});

test('programs get Ctrl+K when it is pressed twice', async ({ page, daemon }) => {
  await daemon.session('api', { argv: ['sh', '-c', 'stty raw -echo; echo up; exec cat -v'] });
  await signIn(page, daemon);
  await terminal(page, 'api').shows('up');
  await page.keyboard.press('Control+K');
  await expect(page.getByRole('combobox')).toBeFocused();
  await page.keyboard.press('Control+k');
  await terminal(page, 'api').shows('^K');
  await expect(page.getByRole('dialog')).toBeHidden();
});
