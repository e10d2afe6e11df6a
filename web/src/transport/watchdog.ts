/** After so long without a message its owner asks whether the connection still works. */
const QUIET_MS = 20_000;
/** How long the reply to that may take. */
const SIGN_OF_LIFE_MS = 10_000;

/**
 * Notices that nothing arrives any more: after a sleep of the device or a change of its network, a connection may be dead
 * without either end knowing. Timers of a page in the background are late, so each of the two steps has one of its own: what
 * has arrived meanwhile is received in between.
 */
export class Watchdog {
  private timer: ReturnType<typeof setTimeout> | undefined;
  private asked = false;
  private readonly wake = () => document.visibilityState === 'visible' && this.ask();

  constructor(
    private readonly send: () => void,
    private readonly dead: () => void,
  ) {
    addEventListener('online', this.wake);
    document.addEventListener('visibilitychange', this.wake);
    this.heard();
  }

  heard(): void {
    this.asked = false;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.ask(), QUIET_MS);
  }

  stop(): void {
    clearTimeout(this.timer);
    removeEventListener('online', this.wake);
    document.removeEventListener('visibilitychange', this.wake);
  }

  private ask(): void {
    if (this.asked) return;
    this.asked = true;
    clearTimeout(this.timer);
    this.timer = setTimeout(this.dead, SIGN_OF_LIFE_MS);
    this.send();
  }
}
