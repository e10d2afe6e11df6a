/** Bytes handed to the terminal before it has reported earlier ones as parsed. */
const IN_FLIGHT = 256 * 1024;
/** The terminal yields to the browser only between pieces, so no piece may take long. */
const PIECE = 32 * 1024;

type Item = { bytes: Uint8Array; parsed: (() => void) | undefined } | { run: () => void } | { wait: Promise<void> };

/**
 * Feeds a terminal as fast as it parses. A WebSocket cannot be paused, so what arrives faster is queued here and never
 * dropped; a tunnel sends more when earlier bytes were reported as parsed. Functions run in order with the bytes, after all earlier ones have been parsed.
 */
export class WriteQueue {
  private readonly items: Item[] = [];
  private head = 0;
  private inFlight = 0;
  private disposed = false;
  private waiting = false;

  constructor(private readonly write: (bytes: Uint8Array, parsed: () => void) => void) {}

  /** Queues bytes; `parsed` is called after the last of them. */
  push(bytes: Uint8Array, parsed?: () => void): void {
    for (let at = 0; at < bytes.length; at += PIECE) {
      const last = at + PIECE >= bytes.length;
      this.items.push({ bytes: bytes.subarray(at, at + PIECE), parsed: last ? parsed : undefined });
    }
    this.pump();
  }

  then(run: () => void): void {
    this.items.push({ run });
    this.pump();
  }

  /** Holds back what follows until `ready`, which must not fail. */
  wait(ready: Promise<void>): void {
    this.items.push({ wait: ready });
    this.pump();
  }

  dispose(): void {
    this.disposed = true;
    this.items.length = 0;
    this.head = 0;
  }

  private pump(): void {
    while (!this.disposed && !this.waiting && this.head < this.items.length && this.inFlight < IN_FLIGHT) {
      const item = this.items[this.head] as Item;
      if ('run' in item) {
        if (this.inFlight > 0) return;
        this.advance();
        item.run();
        continue;
      }
      this.advance();
      if ('wait' in item) {
        this.waiting = true;
        void item.wait.then(() => {
          this.waiting = false;
          this.pump();
        });
        return;
      }
      const { length } = item.bytes;
      this.inFlight += length;
      this.write(item.bytes, () => {
        this.inFlight -= length;
        item.parsed?.();
        this.pump();
      });
    }
  }

  private advance(): void {
    this.head += 1;
    // Shifting an array of thousands of pieces one by one would cost more than parsing them.
    if (this.head === this.items.length || this.head > 4096) {
      this.items.splice(0, this.head);
      this.head = 0;
    }
  }
}
