import { writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import path from 'node:path';
import type { Page } from '@playwright/test';
import { recording } from '../support/agents';
import { type Daemon, REPOSITORY } from '../support/daemon';
import { signIn } from '../support/fixtures';

const AGENT = path.join(REPOSITORY, 'tests/browser/screenshots/agent.py');

const BOLD = '\\033[1m';
const DIM = '\\033[2m';
const GREEN = '\\033[32m';
const BLUE = '\\033[34m';
const PLAIN = '\\033[0m';

const TEST_RUN = [
  `${DIM}~/src/shop/web${PLAIN} ${GREEN}main${PLAIN} $ npm test`,
  '',
  ` ${GREEN}✓${PLAIN} src/cart/total.test.ts ${DIM}(12 tests) 31ms${PLAIN}`,
  ` ${GREEN}✓${PLAIN} src/cart/coupon.test.ts ${DIM}(8 tests) 22ms${PLAIN}`,
  ` ${GREEN}✓${PLAIN} src/checkout/address.test.ts ${DIM}(19 tests) 87ms${PLAIN}`,
  ` ${GREEN}✓${PLAIN} src/checkout/payment.test.ts ${DIM}(31 tests) 140ms${PLAIN}`,
  ` ${GREEN}✓${PLAIN} src/i18n/日本語.test.ts ${DIM}(4 tests) 9ms${PLAIN}`,
  '',
  ` ${BOLD}Test Files${PLAIN}  ${GREEN}5 passed${PLAIN} (5)`,
  ` ${BOLD}     Tests${PLAIN}  ${GREEN}74 passed${PLAIN} (74) 🎉`,
  '',
  `${DIM}~/src/shop/web${PLAIN} ${GREEN}main${PLAIN} $ npm run dev`,
  '',
  `  ${GREEN}➜${PLAIN}  ${BOLD}Local${PLAIN}:   ${BLUE}http://localhost:5173/${PLAIN}`,
  `  ${DIM}➜  Network: use --host to expose${PLAIN}`,
];

/** Sample sessions: two agents in terminals, one of which asks; a shell; and the recorded screen of a third agent. */
export async function sampleSessions(daemon: Daemon): Promise<void> {
  for (const name of ['api', 'deploy']) {
    const workspace = daemon.workspace(`shop/${name}`);
    await daemon.swb('run', '-d', '-n', name, '--profile', 'claude', '-w', workspace, '--', 'python3', AGENT);
    await daemon.swb('wait', name, '--until', 'ready');
  }
  for (const prompt of ['Why does the checkout test fail?', 'Do that, and add a test.']) await daemon.swb('chat', 'api', '-m', prompt);
  const web = `stty -echo; printf '%b\\n' ${TEST_RUN.map((line) => `'${line}'`).join(' ')}; exec cat`;
  await daemon.session('web', { argv: ['sh', '-c', web], workspace: 'shop/web' });
  const { output, cols, rows } = recording('claude-code/01-rich');
  writeFileSync(path.join(daemon.workspace('docs'), '.output'), output);
  await daemon.session('docs', { argv: ['sh', '-c', 'stty raw -echo; cat .output; exec cat'], size: `${cols}x${rows}`, workspace: 'docs' });
  await daemon.swb('send', 'deploy', 'Bring the database up to date', '--enter');
  await daemon.swb('wait', 'deploy', '--until', 'asking');
}

/** Signs in; names of this machine and its temporary directories become those of an ordinary one, ages become equal. */
export async function openPage(page: Page, daemon: Daemon): Promise<void> {
  await page.clock.setFixedTime(Date.now() + 12 * 60_000 + 30_000);
  const directory = path.join(daemon.dir, 'w');
  await page.routeWebSocket(/\/api\/control/u, (socket) => {
    const server = socket.connectToServer();
    server.onMessage((message) => {
      const text = typeof message === 'string' ? message : message.toString('utf8');
      socket.send(text.replaceAll(`"machine":"${hostname()}"`, '"machine":"workstation"').replaceAll(directory, '/home/me/src'));
    });
  });
  await signIn(page, daemon);
}
