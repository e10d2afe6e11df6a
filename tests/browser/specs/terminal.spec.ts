import { expect, open, signIn, test } from '../support/fixtures';
import type { TerminalOnPage } from '../support/terminals';

/** Where a cell is on the page. */
async function cellPosition(terminal: TerminalOnPage, column: number, line: number): Promise<[number, number]> {
  const screen = await terminal.read();
  const box = await terminal.page.locator('.xterm-screen').first().boundingBox();
  if (!screen || !box) throw new Error('no terminal');
  return [box.x + ((column + 0.5) * box.width) / screen.cols, box.y + ((line - screen.view + 0.5) * box.height) / screen.rows];
}

async function hoverCell(terminal: TerminalOnPage, column: number, line: number): Promise<void> {
  await terminal.page.mouse.move(...(await cellPosition(terminal, column, line)));
}

async function clickCell(terminal: TerminalOnPage, column: number, line: number, times: number): Promise<void> {
  await terminal.page.mouse.click(...(await cellPosition(terminal, column, line)), { clickCount: times });
}

test('the terminal follows the size of the window', async ({ owner, daemon }) => {
  await daemon.session('api');
  const api = await open(owner, 'api');
  await api.shows('$');
  let size = '';
  for (const viewport of [{ width: 1440, height: 900 }, { width: 1000, height: 600 }]) {
    await owner.setViewportSize(viewport);
    size = await api.settled(daemon);
    const [cols, rows] = size.split('x');
    await api.enter('clear; stty size');
    await api.shows(new RegExp(`^${rows} ${cols}$`, 'mu'));
  }
  // The second window is narrower than the first.
  expect(Number(size.split('x')[0])).toBeLessThan(130);
});

test('a selection is copied, and text is pasted', async ({ page, context, daemon }) => {
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  await daemon.session('api', { argv: ['sh', '-c', 'echo alpha beta-gamma delta; exec cat'] });
  await signIn(page, daemon);
  const api = await open(page, 'api');
  const line = (await api.shows('beta-gamma')).lines.findIndex((text) => text.includes('beta-gamma'));
  const clipboard = () => page.evaluate(() => navigator.clipboard.readText());

  await clickCell(api, 8, line, 2);
  await page.keyboard.press('Control+Shift+C');
  await expect.poll(clipboard).toBe('beta-gamma');
  // With a selection Ctrl+C copies as well, instead of ending the program.
  await clickCell(api, 20, line, 2);
  await page.keyboard.press('Control+C');
  await expect.poll(clipboard).toBe('delta');

  await page.evaluate(() => navigator.clipboard.writeText('pasted text'));
  await api.focus();
  await page.keyboard.press('Control+V');
  await page.keyboard.press('Enter');
  await api.until('the pasted line and its echo', ({ lines }) => lines.filter((text) => text === 'pasted text').length === 2);
});

test('search finds text in the scrollback', async ({ owner, daemon }) => {
  await daemon.script('api', 'stty -echo; read go; seq -f "number %05.0f" 1 3000; exec cat');
  const api = await open(owner, 'api');
  await daemon.swb('send', 'api', 'go', '--enter');
  await api.shows('number 03000');
  await api.focus();
  await owner.keyboard.press('Control+Shift+F');
  const field = owner.getByRole('search').getByRole('textbox');
  await expect(field).toBeFocused();
  await field.fill('number 01234');
  await expect(owner.getByRole('search')).toContainText('1 of 1');
  await api.until('the result in view', ({ lines, view, rows }) => lines.slice(view, view + rows).includes('number 01234'));
  await field.fill('absent');
  await expect(owner.getByRole('search')).toContainText('No results');
  await field.fill('number 0299');
  await expect(owner.getByRole('search')).toContainText('of 10');
  await field.press('Escape');
  await expect(owner.getByRole('search')).toBeHidden();
  await expect(owner.getByRole('textbox', { name: 'Terminal of api' })).toBeFocused();
});

test('wide characters, emoji and links are shown as such', async ({ owner, context, daemon }) => {
  await daemon.script('api', String.raw`printf '日本語|\n👩‍🚀|🎉|é|\nsee http://127.0.0.1:1/a?b=c there\n'; exec cat`);
  const api = await open(owner, 'api');
  const screen = await api.shows('there');
  expect(screen.lines).toContain('日本語|');
  expect(screen.lines.find((line) => line.includes('🎉'))).toBe('👩‍🚀|🎉|é|');
  // Six cells for three characters, and then the line.
  const line = screen.lines.indexOf('日本語|');
  expect(screen.attributes[line]).toMatch(/w=2.*w=0.*w=2.*w=0.*w=2.*w=0/u);

  // A link is one once the pointer is over it.
  const row = screen.lines.findIndex((text) => text.includes('see http'));
  await expect(async () => {
    await hoverCell(api, 11, row);
    await hoverCell(api, 10, row);
    await expect(owner.locator('.xterm-cursor-pointer')).toHaveCount(1, { timeout: 1000 });
  }).toPass();
  const opened = context.waitForEvent('page');
  await clickCell(api, 10, row, 1);
  const page = await opened;
  expect(await page.evaluate(() => window.opener)).toBeNull();
});

// CO-46
test('input that would end the agent is withheld with a notice', async ({ owner, daemon }) => {
  await daemon.script('api', 'echo up; while read -r line; do echo "line=$line"; done; echo over; exec cat');
  const api = await open(owner, 'api');
  await api.shows('up');
  await api.enter('exit');
  await expect(owner.locator('.notice').first()).toContainText('not sent');
  await api.enter('hello');
  await api.shows('line=hello');
  expect(await api.text()).not.toContain('line=exit');

  // An owner switches it off.
  await owner.keyboard.press('Control+K');
  await owner.getByRole('combobox').fill('input filter');
  await owner.keyboard.press('Enter');
  await expect(owner.locator('.notice').filter({ hasText: 'is off' })).toBeVisible();
  await api.enter('exit');
  await api.shows('line=exit');
});

// CO-46
test('a shell beside the agent has no input filter', async ({ owner, daemon }) => {
  await daemon.session('api');
  await open(owner, 'api');
  await owner.getByRole('button', { name: 'New shell' }).click();
  await expect(owner.getByRole('tab', { name: 'Shell 1' })).toBeVisible();
  await owner.keyboard.type('exit\n');
  await expect(owner.getByRole('tab', { name: 'Shell 1' })).toBeHidden();
});
