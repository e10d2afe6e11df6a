// A browser that opens the page for tunnels from a file, in the network in which this script is run:
//   node browser.mjs PAGE ADDRESS
// prints what happens, one JSON object a line: {"answer"} to be carried to the host, then {"shown"}, the output of a command
// that was typed into the first terminal, or {"failed"}, what the page says instead.

import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

const packages = fileURLToPath(new URL('../../../../../tests/browser/package.json', import.meta.url));
const { chromium } = createRequire(packages)('playwright-core');
const [page_file, address] = process.argv.slice(2);
const LIMIT = 120_000;
const say = (message) => console.log(JSON.stringify(message));

const browser = await chromium.launch({
  executablePath: process.env['SWB_BROWSER'] ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
});
const page = await browser.newPage();
// The test ends this script by closing its input. The page is left before, so that it can say goodbye to the host.
const end = async () => {
  await page.goto('about:blank');
  await browser.close();
  process.exit(0);
};
process.stdin.on('end', () => void end()).resume();
page.setDefaultTimeout(LIMIT);
await page.goto(`file://${page_file}#${address.slice(address.indexOf('#') + 1)}`);
say({ answer: await page.getByRole('textbox', { name: 'Answer' }).inputValue() });
// Chromium shows the prompt and the output as text.
const terminal = page.locator('.pane .xterm-rows').first();
const failed = page.getByRole('alert').waitFor().then(async () => ({ failed: await page.getByRole('alert').innerText() }));
const shown = terminal.filter({ hasText: 'bash' }).waitFor().then(async () => {
  await page.locator('.pane .xterm').first().click();
  await page.keyboard.type('echo over-$((2*21))\n');
  await terminal.filter({ hasText: 'over-42' }).waitFor();
  return { shown: 'over-42' };
});
say(await Promise.race([failed, shown]));
