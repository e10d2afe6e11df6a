import { type ChildProcess, execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';
import { type Daemon, REPOSITORY } from './daemon';
import { waitFor } from './wait';

export interface Offer {
  event: 'offer';
  tunnel: string;
  url: string;
  short_url?: string;
}

export type TunnelEvent = Offer | { event: 'connected'; tunnel: string; peer: string } | { event: 'closed'; tunnel: string; reason: string } | { event: 'error'; message: string };

/** `swb tunnel` while it runs. */
export class TunnelCommand {
  readonly events: TunnelEvent[] = [];
  exit: number | null = null;

  private constructor(private readonly process: ChildProcess) {
    createInterface({ input: process.stdout! }).on('line', (line) => this.events.push(JSON.parse(line) as TunnelEvent));
    process.on('exit', (code) => (this.exit = code ?? -1));
  }

  /** Opens a tunnel within this machine's networks, and waits for its offer. */
  static async open(daemon: Daemon, ...args: string[]): Promise<TunnelCommand> {
    const command = new TunnelCommand(daemon.spawn('tunnel', '--json', '--no-stun', ...args));
    await command.until('offer');
    return command;
  }

  get offer(): Offer {
    return this.events[0] as Offer;
  }

  /** Types a line, such as an answer. */
  type(line: string): void {
    this.process.stdin?.write(`${line}\n`);
  }

  until<Name extends TunnelEvent['event']>(name: Name): Promise<Extract<TunnelEvent, { event: Name }>> {
    return waitFor(`${name} of swb tunnel`, () => this.events.find((event): event is Extract<TunnelEvent, { event: Name }> => event.event === name));
  }

  end(): void {
    this.process.kill('SIGINT');
  }
}


let built: string | null = null;

/** The address of the page as a file of its own, which is built at the first call. */
export function connectPage(): string {
  if (built === null) {
    const directory = mkdtempSync('/tmp/swbc');
    execFileSync('npm', ['run', 'connect-page'], { cwd: path.join(REPOSITORY, 'web'), env: { ...process.env, SWB_CONNECT_DIR: directory }, stdio: 'pipe' });
    process.on('exit', () => rmSync(directory, { recursive: true, force: true }));
    built = pathToFileURL(path.join(directory, 'connect.html')).href;
  }
  return built;
}
