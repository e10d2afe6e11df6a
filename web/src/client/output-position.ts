import type { ServerMessage } from '../protocol/terminal';

/**
 * Counts the output of a PTY, so that a new connection begins exactly behind the last byte. A picture is no output: its
 * bytes do not count, and behind it the position is the one that it was announced with.
 */
export class OutputPosition {
  /** Offset of the next byte, or null before the first connection. */
  offset: number | null = null;
  private pictureBytes = 0;
  private afterPicture = 0;

  control(message: ServerMessage): void {
    if (message.type === 'attached' || message.type === 'lagged') {
      this.offset = message.offset;
      this.pictureBytes = 0;
    } else if (message.type === 'repaint') {
      this.pictureBytes = message.bytes;
      this.afterPicture = message.offset;
      if (message.bytes === 0) this.offset = message.offset;
    }
  }

  /**
   * Counts received bytes. Returns how many of them, from the beginning, are part of a picture, and whether the
   * picture ends with them.
   */
  bytes(length: number): { picture: number; pictureEnds: boolean } {
    const picture = Math.min(length, this.pictureBytes);
    this.pictureBytes -= picture;
    const pictureEnds = picture > 0 && this.pictureBytes === 0;
    if (pictureEnds) this.offset = this.afterPicture;
    if (this.offset !== null) this.offset += length - picture;
    return { picture, pictureEnds };
  }

  /** A lost connection cuts a picture short; the next one begins with a whole picture or none. */
  lost(): void {
    // Half a picture shows nothing useful, and the offset before it may have been lost with `lagged`.
    if (this.pictureBytes > 0) this.offset = null;
    this.pictureBytes = 0;
  }
}
