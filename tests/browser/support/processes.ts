import { readdirSync, readFileSync } from 'node:fs';
import { waitFor } from './wait';

/** The processes of a home directory: those that have it in their environment, whichever process started them. */
export function processesOf(home: string): number[] {
  const wanted = `HOME=${home}`;
  return readdirSync('/proc')
    .filter((name) => /^\d+$/u.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').includes(wanted);
      } catch {
        return false; // It has ended, or belongs to another user.
      }
    });
}

export function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended meanwhile.
  }
}

/** Kills all processes of a home directory, also those that start while others end. */
export async function endAll(home: string): Promise<void> {
  await waitFor(`the end of the processes in ${home}`, () => {
    const left = processesOf(home);
    left.forEach(kill);
    return left.length === 0;
  });
}
