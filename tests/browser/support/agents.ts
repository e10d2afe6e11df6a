import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { type Daemon, REPOSITORY } from './daemon';
import { waitFor } from './wait';

/** An agent that paints its screen like Claude Code does; what it is asked decides what it does (see its file). */
const SCREEN_AGENT = path.join(REPOSITORY, 'crates/cli/tests/support/screen_agent.py');

/** Starts an agent in a terminal, and waits until it is ready. */
export async function screenAgent(daemon: Daemon, name: string, workspace = ''): Promise<void> {
  await daemon.swb('run', '-d', '-n', name, '--profile', 'claude', '-w', daemon.workspace(workspace), '--', 'python3', SCREEN_AGENT);
  await daemon.swb('wait', name, '--until', 'ready');
}

export interface Recording {
  cols: number;
  rows: number;
  output: Buffer;
}

/** The recorded output of an agent, such as `codex/01-rich`. */
export function recording(name: string): Recording {
  const directory = path.join(REPOSITORY, 'crates/vt/tests/recordings', name);
  const { cols, rows } = JSON.parse(readFileSync(path.join(directory, 'expected.json'), 'utf8')) as Recording;
  const pieces = readFileSync(path.join(directory, 'stream.jsonl'), 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as { d: string; b64: string })
    .filter(({ d }) => d === 'o')
    .map(({ b64 }) => Buffer.from(b64, 'base64'));
  return { cols, rows, output: Buffer.concat(pieces) };
}

/** A server of a model whose answers follow a script; see the head of its file. */
const MODEL_SERVER = path.join(REPOSITORY, 'tests/agents/stub_llm.py');

/** Lets a model answer in conversations, by these rules. It ends with the daemon. */
export async function modelAgent(daemon: Daemon, rules: object[]): Promise<void> {
  const script = path.join(daemon.dir, 'script.json');
  writeFileSync(script, JSON.stringify({ rules }));
  const server = spawn('python3', [MODEL_SERVER, '--port', '0', '--script', script], { env: { ...process.env, HOME: daemon.home }, stdio: ['ignore', 'pipe', 'inherit'] });
  const url = await new Promise<string>((resolve, reject) => {
    server.on('error', reject);
    server.stdout.on('data', (line: Buffer) => resolve(line.toString().trim().replace('listening on ', '')));
  });
  const config = path.join(daemon.home, '.config/switchboard');
  mkdirSync(config, { recursive: true });
  writeFileSync(path.join(config, 'config.toml'), `[[agents]]\nname = "model"\nkind = "llm"\nmodel = "m"\nbase_url = "${url}/v1"\n`);
  // The daemon reads its configuration when it starts.
  await daemon.swb('upgrade');
  await waitFor('the agent', async () => (await daemon.run('status', '--json')).code === 0);
}
