import AxeBuilder from '@axe-core/playwright';
import type { Page } from '@playwright/test';

/** Serious findings. What programs paint into a terminal is theirs: its colours are left out. */
export async function findings(page: Page): Promise<string[]> {
  const { violations } = await new AxeBuilder({ page }).exclude('.xterm-screen').analyze();
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, help, nodes }) => nodes.map((node) => `${id}: ${help}: ${node.html} ${node.failureSummary ?? ''}`));
}
