import { defineConfig } from '@playwright/test';
import { BROWSER } from './support/browser';
import { PATIENCE_MS } from './support/patience';

export default defineConfig({
  testDir: 'specs',
  outputDir: 'test-results',
  reporter: [['list']],
  // A test that needs luck is a broken test.
  retries: 0,
  workers: 1,
  forbidOnly: process.env['CI'] !== undefined,
  timeout: 4 * PATIENCE_MS,
  expect: { timeout: PATIENCE_MS },
  use: {
    ...BROWSER,
    viewport: { width: 1280, height: 800 },
    actionTimeout: PATIENCE_MS,
    navigationTimeout: PATIENCE_MS,
    trace: 'off',
    screenshot: 'only-on-failure',
  },
});
