import { writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Page } from '@playwright/test';
import { recording } from '../support/agents';
import { expect, open, reload, terminal, test } from '../support/fixtures';
import { TIMEOUT_MS } from '../support/wait';
import type { Screen, TerminalOnPage } from '../support/terminals';

/** What has to be the same after a reload: text, attributes, cursor, modes, buffer and size. */
function comparable(screen: Screen): object {
  const { lines, attributes, cursor, buffer, modes, cols, rows } = screen;
  return { lines: lines.map((line, i) => `${line}  <${attributes[i]}>`), cursor, buffer, modes, cols, rows };
}

/** Reloads the page and waits until the terminal shows the same; the difference is in the message. */
async function sameAfterReload(page: Page, shown: TerminalOnPage): Promise<void> {
  const before = await shown.read();
  if (!before) throw new Error('no terminal');
  await reload(page);
  const after = terminal(page, shown.session, shown.pty);
  await after.until('a picture', ({ lines }) => lines.some((line) => line !== ''));
  await expect(async () => {
    const now = await after.read();
    expect(now && comparable(now)).toEqual(comparable(before));
  }).toPass({ timeout: TIMEOUT_MS });
}

test('a bash screen with colours and scrollback is the same after a reload', async ({ owner, daemon }) => {
  await daemon.session('api');
  const api = await open(owner, 'api');
  await api.shows('$');
  await api.enter(String.raw`for i in {1..200}; do printf '\e[3%dm%03d \e[1;4mbold\e[0m \e[48;5;%dm256\e[0m \e[38;2;10;%d;200mtrue\e[0m\n' $((i%8)) $i $i $i; done`);
  await api.shows('200 bold');
  await api.enter(String.raw`printf '日本語 👩‍🚀 é \e[7minverse\e[0m \e[9mstruck\e[0m\n'; seq -s ' ' 1 200`);
  await api.shows(/200\n\$ *$/mu);
  await api.type('echo unfinished');
  await api.shows('echo unfinished');
  await sameAfterReload(owner, api);
});

test('vim is the same after a reload', async ({ owner, daemon }) => {
  const file = path.join(daemon.workspace(''), 'a.c');
  writeFileSync(file, Array.from({ length: 120 }, (_, i) => `/* line ${i} */\tint x${i} = ${i}; // "text"\n`).join(''));
  await daemon.session('api', { argv: ['vim', '-u', 'NONE', '-c', 'syntax on | set nocompatible showmode number mouse=a laststatus=2', file] });
  const api = await open(owner, 'api');
  await api.shows('line 5');
  await api.settled(daemon);
  await api.focus();
  await owner.keyboard.type('40Gzz/x45\n');
  await api.shows(/int x45/u);
  await owner.keyboard.type('v');
  const screen = await api.shows('VISUAL');
  expect(screen.buffer).toBe('alternate');
  await owner.keyboard.type('jj');
  await api.until('the cursor two lines further', ({ cursor, attributes }) => cursor.y === screen.cursor.y + 2 && /bg=33554432/u.test(attributes[cursor.y] ?? ''));
  await sameAfterReload(owner, api);
  // Vim takes keys as before, and leaves the alternate screen.
  await api.focus();
  await owner.keyboard.press('Escape');
  await owner.keyboard.type(':q!\n');
  await terminal(owner, 'api').until('the normal screen', ({ buffer }) => buffer === 'normal');
});

for (const name of ['claude-code/01-rich', 'codex/01-rich', 'gemini-cli/01-rich', 'opencode/01-short']) {
  test(`the recorded screen of ${name} is the same after a reload`, async ({ owner, daemon }) => {
    const { output } = recording(name);
    writeFileSync(path.join(daemon.workspace(''), 'output'), output);
    await daemon.script('api', 'stty raw -echo; echo up; head -c 2 >/dev/null; cat output; exec sleep 1000');
    const api = await open(owner, 'api');
    await api.shows('up');
    await api.settled(daemon);
    await api.type('go');
    // The page has parsed all of it when its position is behind the last byte.
    const end = output.length + 'up\n'.length;
    await expect.poll(() => position(owner)).toBe(end);
    await sameAfterReload(owner, api);
  });
}

/** The offset in the output up to which the page's only terminal has received bytes. */
function position(page: Page): Promise<number> {
  return page.evaluate(() => window.swbPosition('api', 0) ?? -1);
}
