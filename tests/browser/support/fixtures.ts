import { test as base, expect, type BrowserContext, type Page } from '@playwright/test';
import { Daemon } from './daemon';
import { exposeTerminals, TerminalOnPage } from './terminals';

interface Fixtures {
  daemon: Daemon;
  /** A page that is signed in as the owner. */
  owner: Page;
}

/** Errors of the page's own code, by page; a test with one fails. */
const failures = new WeakMap<BrowserContext, string[]>();

async function prepare(context: BrowserContext): Promise<void> {
  const found: string[] = [];
  failures.set(context, found);
  await context.addInitScript(exposeTerminals);
  context.on('weberror', (error) => found.push(String(error.error())));
  context.on('console', (message) => {
    if (/Content Security Policy/u.test(message.text())) found.push(message.text());
  });
}

export const test = base.extend<Fixtures>({
  // eslint-disable-next-line no-empty-pattern
  daemon: async ({}, use, info) => {
    const daemon = new Daemon();
    try {
      await daemon.start();
      await use(daemon);
      if (info.status !== info.expectedStatus) await info.attach('log of the daemon', { body: daemon.log() });
    } finally {
      await daemon.end();
    }
  },
  context: async ({ context }, use) => {
    await prepare(context);
    await use(context);
    expect(failures.get(context), 'errors of the page').toEqual([]);
  },
  owner: async ({ page, daemon }, use) => {
    await signIn(page, daemon);
    await use(page);
  },
});

/** Opens the page with a token, the owner's if none is given. */
export async function signIn(page: Page, daemon: Daemon, token?: string): Promise<void> {
  const { url, port } = await daemon.web();
  await page.goto(token === undefined ? url : `http://127.0.0.1:${port}/?token=${token}`);
  await page.waitForURL(`http://127.0.0.1:${port}/`);
  await expect(page.locator('.root')).toBeVisible();
}

/** Reloads the page, as F5 does. */
export async function reload(page: Page): Promise<void> {
  await page.reload();
  await expect(page.locator('.root')).toBeVisible();
}

export function terminal(page: Page, session: string, pty = 0): TerminalOnPage {
  return new TerminalOnPage(page, session, pty);
}

/** Shows a session by a click on it in the list, and waits for its terminal. */
export async function open(page: Page, session: string): Promise<TerminalOnPage> {
  await row(page, session).click();
  const shown = terminal(page, session);
  await shown.until(`the terminal of ${session}`, () => true);
  return shown;
}

/** The entry of a session in the list. */
export function row(page: Page, session: string) {
  return page.locator('[data-session-row]').filter({ has: page.locator('.session-name').getByText(session, { exact: true }) });
}

export { expect };
