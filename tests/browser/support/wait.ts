/** How long a test waits for something that should happen at once: a busy machine is slow, not wrong. */
export const TIMEOUT_MS = Number(process.env['SWB_TEST_TIMEOUT_MS'] ?? 45_000);

/** Waits until `look` returns something other than null, undefined or false. */
export async function waitFor<T>(what: string, look: () => Promise<T> | T, limit = TIMEOUT_MS): Promise<NonNullable<T>> {
  const deadline = Date.now() + limit;
  for (;;) {
    const found = await look();
    if (found !== null && found !== undefined && found !== false) return found as NonNullable<T>;
    if (Date.now() > deadline) throw new Error(`timed out waiting for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}
