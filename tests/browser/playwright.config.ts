import { defineConfig } from '@playwright/test';
import { BROWSER } from './support/browser';
import { TIMEOUT_MS } from './support/wait';

export default defineConfig({
  testDir: 'specs',
  outputDir: 'test-results',
  reporter: [['list']],
  // As the other tests: a failure that does not repeat is listed as flaky.
  retries: process.env['CI'] === undefined ? 0 : 1,
  fullyParallel: true,
  workers: 2,
  forbidOnly: process.env['CI'] !== undefined,
  timeout: 4 * TIMEOUT_MS,
  expect: { timeout: TIMEOUT_MS },
  use: {
    ...BROWSER,
    viewport: { width: 1280, height: 800 },
    actionTimeout: TIMEOUT_MS,
    navigationTimeout: TIMEOUT_MS,
    trace: 'off',
    screenshot: 'only-on-failure',
  },
});
