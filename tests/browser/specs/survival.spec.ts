import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, open, terminal, test } from '../support/fixtures';
import { SilentWay } from '../support/silent-way';
import type { Screen } from '../support/terminals';

/** The numbers of the lines `line N`, in the order in which they are shown. */
function numbers({ lines }: Screen): number[] {
  return lines.flatMap((line) => /^line (\d+)/u.exec(line)?.slice(1).map(Number) ?? []);
}

function consecutive(count: number): number[] {
  return Array.from({ length: count }, (_, i) => i + 1);
}

/** Prints numbered lines until a file named `stop` exists, then how many there were. */
const COUNTER = 'i=0; while [ ! -e stop ]; do i=$((i+1)); echo "line $i"; sleep 0.01; done; echo "end $i"; exec cat';

test('a daemon killed while output streams loses and doubles no line on the page', async ({ owner, daemon }) => {
  await daemon.script('api', COUNTER);
  const api = await open(owner, 'api');
  await owner.evaluate(() => {
    document.body.dataset['untouched'] = 'yes';
    new MutationObserver(() => {
      const banner = document.querySelector('.banner')?.textContent;
      if (banner) document.body.dataset['banner'] = banner;
    }).observe(document.body, { subtree: true, childList: true });
  });
  for (let crash = 1; crash <= 3; crash += 1) {
    const before = numbers(await api.until('output', (screen) => numbers(screen).length > 20)).length;
    await daemon.killDaemon();
    await api.until('more output', (screen) => numbers(screen).length > before + 20);
  }
  writeFileSync(path.join(daemon.workspace(''), 'stop'), '');
  const screen = await api.shows(/^end \d+$/mu);
  const count = Number(/^end (\d+)$/mu.exec(screen.lines.join('\n'))?.[1]);
  expect(numbers(screen)).toEqual(consecutive(count));
  expect(await owner.evaluate(() => document.body.dataset['untouched'])).toBe('yes');
  expect(await owner.evaluate(() => document.body.dataset['banner'])).toContain('reconnecting');
  await expect(owner.locator('.banner')).toBeHidden();
  // Everything works as before, the list included.
  await api.enter('still here');
  await api.until('the echo and the answer', ({ lines }) => lines.filter((line) => line === 'still here').length === 2);
  await daemon.session('web');
  await expect(owner.locator('[data-session-row]')).toHaveCount(2);
});

test('a daemon killed in the middle of a flood loses and doubles no line on the page', async ({ owner, daemon }) => {
  const total = 8000;
  const burst = `read go; i=0; while [ $i -lt ${total} ]; do seq -f "line %.0f of a flood that is long enough to fill the buffers" $((i+1)) $((i+200)); i=$((i+200)); sleep 0.04; done; echo done; exec cat`;
  await daemon.script('api', `stty -echo; echo up; ${burst}`);
  const api = await open(owner, 'api');
  await api.shows('up');
  await daemon.swb('send', 'api', 'go', '--enter');
  const before = numbers(await api.until('output', (screen) => numbers(screen).length > 1000)).length;
  expect(before).toBeLessThan(total);
  await daemon.killDaemon();
  const screen = await api.shows(/^done$/mu);
  expect(numbers(screen)).toEqual(consecutive(total));
});

test('a terminal takes input again after the daemon was killed', async ({ owner, daemon }) => {
  await daemon.script('api', 'stty -echo; echo up; while read -r line; do echo "got=$line"; done');
  const api = await open(owner, 'api');
  await api.shows('up');
  await api.enter('before');
  await api.shows('got=before');
  await daemon.killDaemon();
  // What is typed before the new connection is open is lost, so it is typed until it arrives.
  await expect(owner.locator('.banner')).toBeHidden();
  await expect
    .poll(async () => {
      await api.enter('after');
      return (await api.text()).includes('got=after');
    })
    .toBe(true);
});

test('connections that died in silence are replaced without a line lost', async ({ page, daemon }) => {
  await daemon.script('api', COUNTER);
  const { port, token } = await daemon.web();
  const way = await SilentWay.to(port);
  try {
    await page.goto(`http://127.0.0.1:${way.port}/?token=${token}`);
    const api = terminal(page, 'api');
    await api.until('output', (screen) => numbers(screen).length > 20);
    way.silence();
    // What a browser reports when its device is awake and back in a network.
    await page.evaluate(() => dispatchEvent(new Event('online')));
    const before = numbers(await api.until('a screen', () => true)).length;
    await api.until('more output', (screen) => numbers(screen).length > before + 20);
    writeFileSync(path.join(daemon.workspace(''), 'stop'), '');
    const screen = await api.shows(/^end \d+$/mu);
    const count = Number(/^end (\d+)$/mu.exec(screen.lines.join('\n'))?.[1]);
    expect(numbers(screen)).toEqual(consecutive(count));
    await expect(page.locator('.banner')).toBeHidden();
  } finally {
    way.close();
  }
});

test('a page that was frozen shows the right screen and takes input afterwards', async ({ owner, daemon }) => {
  const total = 300_000;
  await daemon.script('api', `stty -echo; echo up; read go; seq -f "line %.0f of a flood that is longer than all buffers" ${total}; echo done; exec cat`);
  const api = await open(owner, 'api');
  await api.shows('up');
  const session = await owner.context().newCDPSession(owner);
  await session.send('Page.setWebLifecycleState', { state: 'frozen' });
  // The program waits for no browser that is asleep.
  await daemon.swb('send', 'api', 'go', '--enter');
  await daemon.shows('api', 'done');
  await session.send('Page.setWebLifecycleState', { state: 'active' });
  const screen = await api.shows(/^done$/mu);
  const shown = numbers({ ...screen, lines: screen.lines.slice(screen.base) });
  expect(shown).toEqual(Array.from({ length: shown.length }, (_, i) => total - shown.length + 1 + i));
  expect(shown.length).toBeGreaterThan(10);
  await api.enter('awake');
  await api.shows('awake');
});

test('a server that is stopped is shown as stopped', async ({ owner, daemon }) => {
  await daemon.session('api');
  await open(owner, 'api');
  await daemon.swb('serve', '--stop');
  await expect(owner.getByRole('alert')).toContainText('The web server was stopped');
  await expect(owner.locator('.banner')).not.toContainText('restarted');
});
