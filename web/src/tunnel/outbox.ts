/** Bytes that a browser keeps for a channel before more is held back here; at 16 MiB some of them give up the channel. */
const BUFFERED = 1024 * 1024;

type Sent = string | Uint8Array<ArrayBuffer>;

/** Sends messages on a data channel, however many there are: a large paste waits until the channel has room again. */
export class Outbox {
  private readonly waiting: Sent[] = [];

  constructor(private readonly channel: RTCDataChannel) {
    channel.bufferedAmountLowThreshold = BUFFERED / 2;
    channel.onbufferedamountlow = () => this.flush();
  }

  send(message: Sent): void {
    this.waiting.push(message);
    this.flush();
  }

  private flush(): void {
    while (this.waiting.length > 0 && this.channel.readyState === 'open' && this.channel.bufferedAmount < BUFFERED) {
      this.channel.send(this.waiting.shift() as Uint8Array<ArrayBuffer>);
    }
  }
}
