import type { Page } from '@playwright/test';
import type { Daemon } from './daemon';
import { waitFor } from './wait';

/** What a terminal of the page shows: everything that a user could see or scroll to. */
export interface Screen {
  cols: number;
  rows: number;
  /** All lines, the scrollback first, without trailing blanks. */
  lines: string[];
  /** Attributes of each line, as runs of equal cells: `12*bold fg=1:2`. */
  attributes: string[];
  /** Index of the first line of the screen proper. */
  base: number;
  /** Index of the first line that is in view. */
  view: number;
  cursor: { x: number; y: number };
  buffer: string;
  modes: Record<string, unknown>;
}

interface Cell {
  getChars(): string;
  getWidth(): number;
  [method: string]: () => unknown;
}

interface Line {
  translateToString(trimRight: boolean): string;
  getCell(x: number): Cell | undefined;
  isWrapped: boolean;
}

interface XtermBuffer {
  type: string;
  length: number;
  baseY: number;
  viewportY: number;
  cursorX: number;
  cursorY: number;
  getLine(y: number): Line | undefined;
}

interface Xterm {
  cols: number;
  rows: number;
  buffer: { active: XtermBuffer };
  modes: Record<string, unknown>;
  select(column: number, row: number, length: number): void;
  getSelection(): string;
}

interface PageScreen {
  terminal: Xterm;
  options: { session: string; pty: number };
  connection: { position: { offset: number | null } };
  fit: { proposeDimensions(): { cols: number; rows: number } | undefined };
  queue: { inFlight: number; items: unknown[] };
}

interface PageApp {
  screens: Map<number, PageScreen>;
}

declare global {
  interface Window {
    swbTerminal(session: string, pty: number): Xterm | null;
    swbScreen(session: string, pty: number): Screen | null;
    /** Offset in the output behind the last byte that the terminal has parsed; null while some wait. */
    swbPosition(session: string, pty: number): number | null;
    /** The size that the terminal's pane has room for, as `80x24`. */
    swbRoom(session: string, pty: number): string;
    swbGaps: number[];
    swbTasks: number[];
  }
}

/**
 * Runs in the page before its own code. The page has no interface for tests; its state is found where React keeps the
 * value of the context that every component reads.
 */
export function exposeTerminals(): void {
  interface Fiber {
    memoizedProps?: { value?: unknown } | null;
    child?: Fiber | null;
  }
  const findApp = (): PageApp | null => {
    const root = document.getElementById('root') as unknown as Record<string, Fiber> | null;
    const key = root && Object.keys(root).find((name) => name.startsWith('__reactContainer$'));
    for (let fiber = key ? root[key] : null; fiber; fiber = fiber.child ?? null) {
      const value = fiber.memoizedProps?.value as PageApp | undefined;
      if (value?.screens instanceof Map) return value;
    }
    return null;
  };
  const find = (session: string, pty: number): PageScreen | null => {
    for (const screen of findApp()?.screens.values() ?? []) {
      if (screen.options.session === session && screen.options.pty === pty) return screen;
    }
    return null;
  };
  window.swbTerminal = (session, pty) => find(session, pty)?.terminal ?? null;
  window.swbRoom = (session, pty) => {
    const room = find(session, pty)?.fit.proposeDimensions();
    return room ? `${room.cols}x${room.rows}` : '';
  };
  window.swbPosition = (session, pty) => {
    const screen = find(session, pty);
    if (!screen || screen.queue.inFlight > 0 || screen.queue.items.length > 0) return null;
    return screen.connection.position.offset;
  };
  const FLAGS = ['isBold', 'isItalic', 'isDim', 'isUnderline', 'isBlink', 'isInverse', 'isInvisible', 'isStrikethrough', 'isOverline'];
  // The first 16 colours of the palette of 256 are the 16 of the short sequences.
  const [PALETTE_16, PALETTE_256] = [1 << 24, 2 << 24];
  const colour = (mode: unknown, value: unknown): string => `${mode === PALETTE_256 && Number(value) < 16 ? PALETTE_16 : mode}:${value}`;
  const look = (cell: Cell): string =>
    [
      ...FLAGS.filter((flag) => cell[flag]?.()).map((flag) => flag.slice(2).toLowerCase()),
      `fg=${colour(cell['getFgColorMode']?.(), cell['getFgColor']?.())}`,
      `bg=${colour(cell['getBgColorMode']?.(), cell['getBgColor']?.())}`,
      `w=${cell.getWidth()}`,
    ].join(' ');
  const attributes = (line: Line, cols: number): string => {
    const runs: { text: string; count: number }[] = [];
    for (let x = 0; x < cols; x += 1) {
      const cell = line.getCell(x);
      const text = cell ? look(cell) : 'none';
      const last = runs.at(-1);
      if (last?.text === text) last.count += 1;
      else runs.push({ text, count: 1 });
    }
    return (line.isWrapped ? 'wrapped; ' : '') + runs.map(({ text, count }) => `${count}*${text}`).join('; ');
  };
  window.swbScreen = (session, pty) => {
    const terminal = window.swbTerminal(session, pty);
    if (!terminal) return null;
    const { active } = terminal.buffer;
    const all = Array.from({ length: active.length }, (_, y) => active.getLine(y)).filter((line) => line !== undefined);
    return {
      cols: terminal.cols,
      rows: terminal.rows,
      lines: all.map((line) => line.translateToString(true).trimEnd()),
      attributes: all.map((line) => attributes(line, terminal.cols)),
      base: active.baseY,
      view: active.viewportY,
      cursor: { x: active.cursorX, y: active.cursorY },
      buffer: active.type,
      modes: { ...terminal.modes },
    };
  };
}

/** One terminal on a page. */
export class TerminalOnPage {
  constructor(
    readonly page: Page,
    readonly session: string,
    readonly pty = 0,
  ) {}

  /** What it shows now, or null if it is not on the page. */
  async read(): Promise<Screen | null> {
    try {
      return await this.page.evaluate(([session, pty]) => window.swbScreen(session, pty), [this.session, this.pty] as const);
    } catch (error) {
      // The page is on its way to another one, for example after a sign-in.
      if (String(error).includes('Execution context was destroyed')) return null;
      throw error;
    }
  }

  async text(): Promise<string> {
    return (await this.read())?.lines.join('\n') ?? '';
  }

  /** Waits until a condition holds for the screen, and returns it. */
  async until(what: string, holds: (screen: Screen) => boolean): Promise<Screen> {
    let last: Screen | null = null;
    try {
      return await waitFor(what, async () => {
        last = await this.read();
        return last !== null && holds(last) ? last : null;
      });
    } catch (error) {
      const shown = (last as Screen | null)?.lines.join('\n').trimEnd().split('\n').slice(-30).join('\n') ?? 'no terminal';
      throw new Error(`${(error as Error).message}; ${this.session} shows:\n${shown}`);
    }
  }

  shows(text: string | RegExp): Promise<Screen> {
    return this.until(`${text} on the screen of ${this.session}`, ({ lines }) =>
      typeof text === 'string' ? lines.some((line) => line.includes(text)) : text.test(lines.join('\n')),
    );
  }

  /** The size that it has, as `80x24`. */
  async size(): Promise<string> {
    const screen = await this.read();
    return screen ? `${screen.cols}x${screen.rows}` : '';
  }

  /** The size that its pane has room for. */
  room(): Promise<string> {
    return this.page.evaluate(([session, pty]) => window.swbRoom(session, pty), [this.session, this.pty] as const);
  }

  /** Waits until pane, terminal and PTY have the same size, and returns it. */
  async settled(daemon: Daemon): Promise<string> {
    return waitFor(`the size of ${this.session}`, async () => {
      const [size, room, pty] = [await this.size(), await this.room(), await daemon.size(this.session)];
      return size === room && size === pty ? size : null;
    });
  }

  /** Types with the keyboard into the terminal, which takes the focus first. */
  async type(text: string): Promise<void> {
    await this.focus();
    await this.page.keyboard.type(text);
  }

  /** Types a line and presses Enter. */
  async enter(line: string): Promise<void> {
    await this.type(line);
    await this.page.keyboard.press('Enter');
  }

  async focus(): Promise<void> {
    const label = this.pty === 0 ? `Terminal of ${this.session}` : `Shell ${this.pty} of ${this.session}`;
    await this.page.getByRole('textbox', { name: label, exact: true }).first().focus();
  }
}
