import { readFileSync } from 'node:fs';
import path from 'node:path';
import { type Daemon, REPOSITORY } from './daemon';

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
