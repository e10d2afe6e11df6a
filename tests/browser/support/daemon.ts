import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, openSync, closeSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { TIMEOUT_MS, waitFor } from './wait';
import { endAll, kill } from './processes';

export const REPOSITORY = path.resolve(import.meta.dirname, '../../..');
const SWB = path.resolve(REPOSITORY, process.env['SWB_BIN'] ?? 'target/debug/swb');

export interface Served {
  url: string;
  port: number;
  token: string;
}

interface Result {
  code: number;
  stdout: string;
  stderr: string;
}

/**
 * A throw-away installation: its own home, its own runtime directory, its own daemon. `end` ends every process that it
 * started, those of the sessions included.
 */
export class Daemon {
  /** Short, because the path of a socket can have only about a hundred bytes. */
  readonly dir = mkdtempSync('/tmp/swbb');
  readonly home = path.join(this.dir, 'h');
  private process: ChildProcess | null = null;
  private served: Served | null = null;

  constructor() {
    for (const name of ['h', 'r', 'w']) mkdirSync(path.join(this.dir, name), { mode: 0o700 });
    writeFileSync(path.join(this.home, '.bashrc'), "PS1='$ '\nHISTFILE=\n");
  }

  async start(): Promise<void> {
    const log = openSync(path.join(this.dir, 'daemon.log'), 'a');
    this.process = spawn(SWB, ['daemon'], { cwd: this.workspace(''), env: this.environment(), stdio: ['ignore', log, log] });
    closeSync(log);
    this.process.on('error', () => {}); // A missing program is reported by the first command.
    await waitFor('the daemon', async () => (await this.run('status', '--json')).code === 0);
  }

  /** The web server of this daemon, started at the first call. */
  async web(): Promise<Served> {
    this.served ??= await this.json<Served>('serve', '--port', '0');
    return this.served;
  }

  /** A directory for sessions; the empty name is the one that contains all others. */
  workspace(name: string): string {
    const directory = path.join(this.dir, 'w', name);
    mkdirSync(directory, { recursive: true });
    return directory;
  }

  run(...args: string[]): Promise<Result> {
    return new Promise((resolve, reject) => {
      const options = { cwd: this.workspace(''), env: this.environment(), timeout: TIMEOUT_MS, maxBuffer: 64 << 20 };
      const child = execFile(SWB, args, options, (error, stdout, stderr) => {
        if (error && typeof error.code === 'string') reject(new Error(`cannot run ${SWB}: ${error.message}`));
        else resolve({ code: typeof error?.code === 'number' ? error.code : error ? -1 : 0, stdout, stderr });
      });
      child.stdin?.end();
    });
  }

  /** Starts a command that goes on; it ends with the daemon, at the latest. */
  spawn(...args: string[]): ChildProcess {
    return spawn(SWB, args, { cwd: this.workspace(''), env: this.environment(), stdio: ['pipe', 'pipe', 'inherit'] });
  }

  /** Runs a command that has to succeed, and returns its output. */
  async swb(...args: string[]): Promise<string> {
    const { code, stdout, stderr } = await this.run(...args);
    if (code !== 0) throw new Error(`swb ${args.join(' ')} failed with ${code}: ${stderr}${this.log()}`);
    return stdout;
  }

  async json<T>(...args: string[]): Promise<T> {
    return JSON.parse(await this.swb(...args, '--json')) as T;
  }

  /** Starts a session in the background; without a command it is bash with the prompt `$ `. */
  async session(name: string, { argv = ['bash'], size = '80x24', workspace = '' } = {}): Promise<void> {
    await this.swb('run', '-d', '-n', name, '--size', size, '-w', this.workspace(workspace), '--', ...argv);
  }

  /** Starts a session with a shell script. */
  script(name: string, script: string, size = '80x24'): Promise<void> {
    return this.session(name, { argv: ['sh', '-c', script], size });
  }

  /** Waits until a session's screen shows a text. */
  async shows(session: string, text: string): Promise<void> {
    await this.swb('wait', session, '--text', text.replace(/[\^$.*+?()[\]{}|]/gu, '\\$&'));
  }

  /** The size of a session's terminal, as `80x24`. */
  async size(session: string): Promise<string> {
    const list = await this.json<{ name: string; size: { cols: number; rows: number } }[]>('ls');
    const found = list.find((item) => item.name === session);
    if (!found) throw new Error(`no session ${session}`);
    return `${found.size.cols}x${found.size.rows}`;
  }

  async token(...args: string[]): Promise<string> {
    return (await this.json<{ token: string }>('token', 'add', ...args)).token;
  }

  /** Kills the daemon with SIGKILL and waits until another one has taken its place. */
  async killDaemon(): Promise<void> {
    const before = await this.daemonPid();
    kill(before);
    await waitFor('another daemon', async () => {
      const { code, stdout } = await this.run('status', '--json');
      return code === 0 && pidIn(stdout) !== before;
    });
  }

  async daemonPid(): Promise<number> {
    return pidIn(await this.swb('status', '--json'));
  }

  log(): string {
    try {
      return `\n--- log of the daemon ---\n${readFileSync(path.join(this.dir, 'daemon.log'), 'utf8')}`;
    } catch {
      return '';
    }
  }

  async end(): Promise<void> {
    await this.run('shutdown', '--kill').catch(() => {});
    this.process?.kill('SIGKILL');
    await endAll(this.home);
    rmSync(this.dir, { recursive: true, force: true });
  }

  private environment(): NodeJS.ProcessEnv {
    return {
      HOME: this.home,
      LANG: 'C.UTF-8',
      PATH: process.env['PATH'],
      SHELL: '/bin/bash',
      TERM: 'xterm-256color',
      USER: 'tester',
      XDG_CONFIG_HOME: path.join(this.home, '.config'),
      XDG_RUNTIME_DIR: path.join(this.dir, 'r'),
      XDG_STATE_HOME: path.join(this.home, '.local/state'),
    };
  }
}

function pidIn(status: string): number {
  return (JSON.parse(status) as { daemon: { pid: number } }).daemon.pid;
}
