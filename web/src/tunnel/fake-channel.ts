/** For unit tests: a data channel without a network. */
export class FakeChannel {
  readyState: RTCDataChannelState;
  bufferedAmount = 0;
  bufferedAmountLowThreshold = 0;
  binaryType = 'blob';
  onopen: (() => void) | null = null;
  onmessage: ((event: { data: unknown }) => void) | null = null;
  onclose: (() => void) | null = null;
  onbufferedamountlow: (() => void) | null = null;
  readonly sent: (string | Uint8Array)[] = [];

  constructor(
    readonly label: string,
    open = true,
  ) {
    this.readyState = open ? 'open' : 'connecting';
  }

  /** As the browser's own type, which has much more. */
  get asChannel(): RTCDataChannel {
    return this as unknown as RTCDataChannel;
  }

  send(message: string | Uint8Array): void {
    this.sent.push(message);
  }

  close(): void {
    this.readyState = 'closed';
  }

  // What the host does

  open(): void {
    this.readyState = 'open';
    this.onopen?.();
  }

  deliver(data: string | Uint8Array): void {
    this.onmessage?.({ data: typeof data === 'string' ? data : data.slice().buffer });
  }

  /** The host, or the network, closes it. */
  lose(): void {
    this.readyState = 'closed';
    this.onclose?.();
  }
}
