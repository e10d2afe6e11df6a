import type { Page } from '@playwright/test';
import { screenAgent } from '../support/agents';
import { expect, open, reload, terminal, test } from '../support/fixtures';

/** Where the panes are, with their sessions, from left to right. */
async function panes(page: Page): Promise<{ session: string | null; left: number; width: number; height: number }[]> {
  const found = await page.locator('.pane').all();
  const boxes = await Promise.all(
    found.map(async (pane) => {
      const box = await pane.boundingBox();
      return { session: await pane.getAttribute('aria-label'), left: Math.round(box?.x ?? 0), width: Math.round(box?.width ?? 0), height: Math.round(box?.height ?? 0) };
    }),
  );
  return boxes.sort((a, b) => a.left - b.left);
}

test('panes can be split and dragged, and a reload finds the layout', async ({ owner, daemon }) => {
  await daemon.session('api');
  await daemon.session('web');
  const api = await open(owner, 'api');
  await api.shows('$');
  await owner.getByRole('button', { name: 'Split to the right' }).click();
  await expect(owner.locator('.pane')).toHaveCount(2);
  await open(owner, 'web');
  await expect.poll(async () => (await panes(owner)).map(({ session }) => session)).toEqual(['api', 'web']);
  await terminal(owner, 'web').shows('$');

  const before = await panes(owner);
  const divider = owner.getByRole('separator');
  const box = await divider.boundingBox();
  if (!box) throw new Error('the divider has no place');
  const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
  await owner.mouse.move(x, y);
  await owner.mouse.down();
  await owner.mouse.move(x + 100, y, { steps: 5 });
  await owner.mouse.move(x + 200, y, { steps: 5 });
  await owner.mouse.up();
  await expect.poll(async () => Math.round(((await panes(owner))[0]?.width ?? 0) - (before[0]?.width ?? 0))).toBeGreaterThan(180);
  // Both terminals follow, and the daemon with them.
  const dragged = await panes(owner);
  const shown = terminal(owner, 'web');
  await shown.settled(daemon);
  const width = (await shown.read())?.cols ?? 0;
  expect(width).toBeGreaterThan(10);
  await expect.poll(async () => ((await api.read())?.cols ?? 0) > width).toBe(true);

  await reload(owner);
  await terminal(owner, 'api').shows('$');
  await terminal(owner, 'web').shows('$');
  expect(await panes(owner)).toEqual(dragged);

  // With the keyboard.
  await divider.focus();
  const share = Number(await divider.getAttribute('aria-valuenow'));
  await owner.keyboard.press('ArrowLeft');
  await expect(divider).toHaveAttribute('aria-valuenow', String(share - 2));
});

test('a pane can be zoomed and closed, and tabs are kept', async ({ owner, daemon }) => {
  await daemon.session('api');
  const api = await open(owner, 'api');
  await api.shows('$');
  await owner.getByRole('button', { name: 'Split downwards' }).click();
  await expect(owner.locator('.pane')).toHaveCount(2);
  await owner.locator('.pane').nth(1).getByRole('tab', { name: 'Turns' }).click();
  await expect(owner.getByRole('log', { name: 'Turns of api' })).toBeVisible();
  await owner.locator('.pane').nth(1).getByRole('button', { name: 'Zoom this pane' }).click();
  await expect(owner.locator('.pane')).toHaveCount(1);
  await expect(owner.getByRole('button', { name: 'Show all panes' })).toBeVisible();

  await reload(owner);
  await expect(owner.getByRole('log', { name: 'Turns of api' })).toBeVisible();
  // The zoom is for the moment only.
  await expect(owner.locator('.pane')).toHaveCount(2);
  await owner.locator('.pane').nth(1).getByRole('button', { name: 'Close this pane' }).click();
  await expect(owner.locator('.pane')).toHaveCount(1);
  await terminal(owner, 'api').shows('$');
});

test('approvals cover the terminals of a small window instead of resizing them', async ({ owner, daemon }) => {
  await owner.setViewportSize({ width: 1024, height: 768 });
  await daemon.session('api');
  const api = await open(owner, 'api');
  await api.shows('$');
  await api.settled(daemon);
  const [size, before] = [await daemon.size('api'), await panes(owner)];
  await owner.getByRole('button', { name: 'Approvals' }).click();
  await expect(owner.getByRole('complementary', { name: 'Approvals' })).toBeVisible();
  expect(await panes(owner)).toEqual(before);
  await owner.keyboard.press('Escape');
  await api.enter('echo still the same size');
  await api.shows('still the same size');
  expect(await daemon.size('api')).toBe(size);

  // A session that is opened from there is not covered.
  await screenAgent(daemon, 'agent');
  await daemon.swb('send', 'agent', 'ask make install', '--enter');
  await owner.getByRole('button', { name: 'Approvals' }).click();
  await owner.getByRole('article').getByRole('button', { name: 'agent' }).click();
  await expect(owner.getByRole('complementary', { name: 'Approvals' })).toBeHidden();
  await terminal(owner, 'agent').shows('make install');
});
