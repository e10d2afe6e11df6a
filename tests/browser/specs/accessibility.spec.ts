import { screenAgent } from '../support/agents';
import { findings } from '../support/findings';
import { expect, open, row, signIn, terminal, test } from '../support/fixtures';
import { waitFor } from '../support/wait';

for (const colorScheme of ['dark', 'light'] as const) {
  test.describe(colorScheme, () => {
    test.use({ colorScheme, contextOptions: { reducedMotion: 'reduce' } });

    test('the sign-in page has no serious findings', async ({ page, daemon }) => {
      const { port } = await daemon.web();
      await page.goto(`http://127.0.0.1:${port}/?token=wrong`);
      expect(await findings(page)).toEqual([]);
    });

    test('an empty page and its dialogs have no serious findings', async ({ owner }) => {
      await expect(owner.getByText('No sessions')).toBeVisible();
      expect(await findings(owner)).toEqual([]);
      await owner.keyboard.press('Control+Shift+S');
      await expect(owner.getByRole('dialog', { name: 'New session' })).toBeVisible();
      expect(await findings(owner)).toEqual([]);
      await owner.keyboard.press('Escape');
      await owner.keyboard.press('?');
      await expect(owner.getByRole('dialog', { name: 'Keyboard shortcuts' })).toBeVisible();
      expect(await findings(owner)).toEqual([]);
    });

    test('terminals, turns, conversation, inbox and palette have no serious findings', async ({ owner, daemon }) => {
      await screenAgent(daemon, 'api');
      await daemon.session('web');
      await daemon.swb('ask', 'api', 'note some **bold** text and `code`');
      await screenAgent(daemon, 'talk');
      await daemon.swb('chat', 'talk', '-m', 'say done');
      await open(owner, 'web');
      await owner.getByRole('button', { name: 'Split to the right' }).click();
      await (await open(owner, 'api')).shows('code');
      expect(await findings(owner), 'terminals').toEqual([]);

      await owner.locator('.pane').nth(1).getByRole('tab', { name: 'Turns' }).click();
      await expect(owner.getByRole('article', { name: /^Turn / })).toContainText('bold');
      expect(await findings(owner), 'turns').toEqual([]);

      await row(owner, 'talk').click();
      await owner.locator('.pane').nth(1).getByRole('tab', { name: 'Conversation' }).click();
      await expect(owner.getByRole('log', { name: 'Conversation with talk' })).toContainText('done');
      await owner.getByRole('textbox', { name: 'Message to talk' }).fill('ask cargo test');
      await owner.keyboard.press('Enter');
      await expect(owner.getByRole('region', { name: /^Approval/ })).toContainText('cargo test');
      expect(await findings(owner), 'conversation').toEqual([]);

      await daemon.swb('send', 'api', 'ask make install', '--enter');
      await waitFor('two approvals', async () => (await daemon.json<unknown[]>('approvals')).length === 2);
      await owner.getByRole('button', { name: /^Approvals/ }).click();
      await expect(owner.getByRole('complementary', { name: 'Approvals' }).getByRole('article')).toHaveCount(2);
      expect(await findings(owner), 'inbox').toEqual([]);

      await owner.keyboard.press('Control+K');
      await expect(owner.getByRole('combobox')).toBeFocused();
      expect(await findings(owner), 'palette').toEqual([]);
    });
  });
}

test.describe('on a phone', () => {
  test.use({ viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true, contextOptions: { reducedMotion: 'reduce' } });

  test('terminal and drawer have no serious findings', async ({ page, daemon }) => {
    await daemon.session('api');
    await signIn(page, daemon);
    await terminal(page, 'api').shows('$');
    expect(await findings(page), 'terminal').toEqual([]);
    await page.getByRole('button', { name: 'Sessions' }).tap();
    await expect(row(page, 'api')).toBeVisible();
    expect(await findings(page), 'drawer').toEqual([]);
  });
});
