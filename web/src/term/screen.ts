import { FitAddon } from '@xterm/addon-fit';
import { type ISearchOptions, SearchAddon } from '@xterm/addon-search';
import { WebLinksAddon } from '@xterm/addon-web-links';
import { Terminal } from '@xterm/xterm';
import type { EarlyTerminal } from '../client/early-terminal';
import type { TerminalConnection, TerminalState } from '../client/terminal';
import type { ServerMessage } from '../protocol/terminal';
import { copyText } from './clipboard';
import { graphicsCardHelps } from './graphics';
import { sameSize, type Size, watchSize } from './size';
import { darkScheme, searchDecorations, terminalTheme } from './theme';
import { isPlain, loadWidths } from './widths';
import { WriteQueue } from './write-queue';

const FONT = 'ui-monospace, "SF Mono", "Cascadia Mono", "JetBrains Mono", Menlo, "DejaVu Sans Mono", Consolas, monospace';
const SCROLLBACK = 10_000;
/** A pane that is being dragged changes its size at every frame; programs should redraw a few times only. */
const RESIZE_DELAY_MS = 60;
/** How long to wait for the daemon to confirm a size at the right place in the output. */
const RESIZE_CONFIRMATION_MS = 500;

export interface ScreenOptions {
  early: EarlyTerminal;
  session: string;
  pty: number;
  watch: boolean;
  fontSize: number;
  label: string;
  onState(state: TerminalState): void;
  onNotice(text: string): void;
  onExit(code: number): void;
  /** The terminal has another size than the pane, set by another client, or null. */
  onForeignSize(size: ForeignSize | null): void;
  onResults(index: number, count: number): void;
  /** Returns true if the page handles the key. */
  onKey(event: KeyboardEvent): boolean;
}

export interface ForeignSize extends Size {
  /** It has more rows than the pane has room for. */
  tall: boolean;
}

let firstPaintMarked = false;

function openLink(event: MouseEvent, address: string): void {
  event.preventDefault();
  // Terminal output names the address: nothing but the web is opened, and the new page cannot reach this one.
  if (/^https?:\/\//iu.test(address)) window.open(address, '_blank', 'noopener,noreferrer');
}

/**
 * One terminal: xterm.js, its connection, and its size. The terminal's size follows the output (`attached`, `resized`),
 * never the pane directly; the pane's size is only reported to the daemon. That keeps every byte on the right line.
 */
export class TerminalScreen {
  readonly terminal: Terminal;
  private readonly connection: TerminalConnection;
  private readonly fit = new FitAddon();
  private readonly search = new SearchAddon();
  private readonly queue: WriteQueue;
  private readonly observer: ResizeObserver;
  private readonly encoder = new TextEncoder();
  private readonly repaintTheme = () => (this.terminal.options.theme = terminalTheme());
  private ptySize: Size | null = null;
  private reported: Size | null = null;
  private resizeTimer: ReturnType<typeof setTimeout> | undefined;
  private confirmationTimer: ReturnType<typeof setTimeout> | undefined;
  private watch: boolean;
  private ended = false;
  private widths: Promise<void> | null = null;

  constructor(
    private readonly container: HTMLElement,
    private readonly options: ScreenOptions,
  ) {
    this.watch = options.watch;
    this.terminal = new Terminal({
      allowProposedApi: true,
      fontFamily: FONT,
      fontSize: options.fontSize,
      // Drawn with the document, frames of boxes have gaps between lines that are apart.
      lineHeight: graphicsCardHelps() ? 1.15 : 1,
      scrollback: SCROLLBACK,
      cursorBlink: false,
      disableStdin: options.watch,
      macOptionIsMeta: true,
      rightClickSelectsWord: false,
      minimumContrastRatio: 4.5,
      theme: terminalTheme(),
      linkHandler: { activate: openLink },
    });
    this.terminal.loadAddon(this.fit);
    this.terminal.loadAddon(this.search);
    this.terminal.loadAddon(new WebLinksAddon(openLink));
    this.terminal.open(container);
    this.terminal.textarea?.setAttribute('aria-label', options.label);
    this.terminal.attachCustomKeyEventHandler((event) => this.handleKey(event));
    this.terminal.onData((text) => this.input(this.encoder.encode(text)));
    this.terminal.onBinary((text) => this.input(Uint8Array.from(text, (char) => char.charCodeAt(0))));
    this.terminal.onResize(() => this.reportForeignSize());
    this.search.onDidChangeResults(({ resultIndex, resultCount }) => options.onResults(resultIndex, resultCount));
    this.queue = new WriteQueue((bytes, parsed) => this.terminal.write(bytes, parsed));
    this.observer = new ResizeObserver(() => this.scheduleResize());
    this.observer.observe(container);
    darkScheme.addEventListener('change', this.repaintTheme);
    const { connection, begin } = options.early.connect(options.session, options.pty, options.watch, {
      output: (bytes, pictureEnds, handled) => {
        this.awaitWidths(bytes);
        this.queue.push(bytes, handled);
        if (pictureEnds) this.queue.then(() => this.pictureShown());
      },
      message: (message) => this.receive(message),
      state: options.onState,
    });
    this.connection = connection;
    begin();
    void this.useGraphicsCard();
  }

  get watching(): boolean {
    return this.watch;
  }

  focus(): void {
    this.terminal.focus();
    this.takeSize();
  }

  /** Reports the pane's size again, after another client changed it. */
  takeSize(): void {
    if (!this.watch && this.ptySize && !sameSize(this.paneSize(), this.ptySize)) this.reportSize();
  }

  input(bytes: Uint8Array): void {
    if (!this.watch) this.connection.input(bytes);
  }

  paste(text: string): void {
    if (!this.watch) this.terminal.paste(text);
  }

  setWatch(watch: boolean): void {
    this.watch = watch;
    this.reported = null;
    this.terminal.options.disableStdin = watch;
    this.connection.setWatch(watch);
  }

  setFontSize(size: number): void {
    this.terminal.options.fontSize = size;
    this.scheduleResize();
  }

  find(text: string, direction: 'next' | 'previous', incremental = false): void {
    const options: ISearchOptions = { incremental, decorations: searchDecorations() };
    if (direction === 'next') this.search.findNext(text, options);
    else this.search.findPrevious(text, options);
  }

  endFind(): void {
    this.search.clearDecorations();
    this.terminal.clearSelection();
  }

  async copySelection(): Promise<boolean> {
    const text = this.terminal.getSelection();
    return text !== '' && (await copyText(text));
  }

  dispose(): void {
    clearTimeout(this.resizeTimer);
    clearTimeout(this.confirmationTimer);
    darkScheme.removeEventListener('change', this.repaintTheme);
    this.observer.disconnect();
    this.connection.close();
    this.queue.dispose();
    this.terminal.dispose();
  }

  private receive(message: ServerMessage): void {
    if (message.type === 'attached' || message.type === 'resized') {
      this.queue.then(() => {
        clearTimeout(this.confirmationTimer);
        this.ptySize = { cols: message.cols, rows: message.rows };
        // A resumed connection has no picture to wait for.
        if (this.watch) this.reportSize();
        else this.terminal.resize(message.cols, message.rows);
        if (message.type === 'attached' && !this.watch) {
          // The daemon does not know the size of this connection's window yet.
          this.reported = null;
          this.scheduleResize();
        }
        this.reportForeignSize();
      });
    } else if (message.type === 'notice') this.options.onNotice(message.text);
    else if (message.type === 'exited') this.queue.then(() => this.showEnd(message.code));
  }

  /** Nothing draws the screen any more, so its height can follow the pane: the last lines have to stay in view. */
  private showEnd(code: number): void {
    this.ended = true;
    this.options.onExit(code);
    this.scheduleResize();
  }

  private pictureShown(): void {
    if (!this.widths) requestAnimationFrame(() => this.loadWidths());
    if (firstPaintMarked) return;
    firstPaintMarked = true;
    requestAnimationFrame(() => performance.mark('swb-first-paint'));
  }

  private paneSize(): Size | null {
    const proposed = this.fit.proposeDimensions();
    if (!proposed || !Number.isFinite(proposed.cols) || !Number.isFinite(proposed.rows)) return null;
    return { cols: Math.max(2, Math.min(1000, proposed.cols)), rows: Math.max(1, Math.min(500, proposed.rows)) };
  }

  private scheduleResize(): void {
    clearTimeout(this.resizeTimer);
    this.resizeTimer = setTimeout(() => this.reportSize(), RESIZE_DELAY_MS);
  }

  private reportSize(): void {
    const pane = this.paneSize();
    // Hidden panes have no size, and before `attached` there is nothing to resize.
    if (!pane || !this.ptySize || !this.container.isConnected) return;
    if (this.ended) {
      this.terminal.resize(this.terminal.cols, pane.rows);
      this.terminal.scrollToBottom();
      return;
    }
    const size = this.watch ? watchSize(pane, this.ptySize) : pane;
    if (this.watch) this.terminal.resize(size.cols, size.rows);
    else if (sameSize(size, this.ptySize) && sameSize(size, this.reported)) {
      this.reportForeignSize();
      return;
    }
    if (this.watch && sameSize(size, this.reported)) return;
    this.reported = size;
    this.connection.resize(size.cols, size.rows);
    if (this.watch) return;
    clearTimeout(this.confirmationTimer);
    this.confirmationTimer = setTimeout(() => this.terminal.resize(size.cols, size.rows), RESIZE_CONFIRMATION_MS);
  }

  private reportForeignSize(): void {
    const pane = this.paneSize();
    const foreign = !this.watch && pane && this.ptySize && !sameSize(pane, this.ptySize) && sameSize(this.reported, pane);
    this.options.onForeignSize(foreign && this.ptySize ? { ...this.ptySize, tall: this.ptySize.rows > pane.rows } : null);
  }

  private handleKey(event: KeyboardEvent): boolean {
    if (event.type !== 'keydown') return true;
    if (this.options.onKey(event)) {
      event.preventDefault();
      return false;
    }
    const command = event.ctrlKey || event.metaKey;
    if (command && !event.altKey && event.code === 'KeyV') return false; // The browser pastes; xterm.js reads the event.
    if (command && !event.altKey && event.code === 'KeyC' && (event.shiftKey || event.metaKey || this.terminal.hasSelection())) {
      event.preventDefault();
      void this.copySelection().then((copied) => copied && this.terminal.clearSelection());
      return false;
    }
    return true;
  }

  /** Text beyond ASCII waits for the tables of its widths; a wrong width would stay on the screen. */
  private awaitWidths(bytes: Uint8Array): void {
    if (!this.widths && !isPlain(bytes)) this.loadWidths();
  }

  private loadWidths(): void {
    this.widths ??= loadWidths(this.terminal);
    this.queue.wait(this.widths);
  }

  /** Draws with WebGL where there is one; loaded later, as the first paint does not need it. */
  private async useGraphicsCard(): Promise<void> {
    if (!graphicsCardHelps()) return;
    try {
      const { WebglAddon } = await import('@xterm/addon-webgl');
      if (!this.terminal.element?.isConnected) return;
      const addon = new WebglAddon();
      addon.onContextLoss(() => addon.dispose());
      this.terminal.loadAddon(addon);
    } catch {
      // xterm.js goes on drawing with the document.
    }
  }
}
