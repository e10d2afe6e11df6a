import { defineConfig } from '@playwright/test';
import base from './playwright.config';

/** Not tests: `npm run screenshots` writes the pictures in docs/screenshots. */
export default defineConfig(base, { testDir: 'screenshots', testMatch: '*.shots.ts' });
