/**
 * An interrupted command leaves nothing behind: a signal, or the end of the terminal, removes the lab that this process is
 * creating, or prints the command to remove a lab that was up before. The handler is synchronous, so the work does not continue meanwhile.
 */
import { spawnSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { constants } from 'node:os';
import { readRecord } from './layout.ts';

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
type Signal = (typeof signals)[number];

/** Runs the work that starts a lab. Exits with 128 plus the signal's number if interrupted. */
export async function interruptible<T>(lab: string, work: () => Promise<T>): Promise<T> {
  const wasThere = readRecord(lab)?.isComplete === true;
  const interrupt = (signal: Signal): never => end(lab, signal, wasThere);
  // The reader of the output has gone, so this counts as SIGHUP.
  const onBroken = (): never => interrupt('SIGHUP');
  for (const signal of signals) process.on(signal, interrupt);
  process.stdout.on('error', onBroken);
  try {
    return await work();
  } finally {
    for (const signal of signals) process.off(signal, interrupt);
    process.stdout.off('error', onBroken);
  }
}

function end(lab: string, signal: Signal, wasThere: boolean): never {
  const isHeard = signal !== 'SIGHUP';
  const make = `make lab-down${lab === 'demo' ? '' : ` LAB=${lab}`}`;
  if (wasThere) {
    if (isHeard) console.error(`\ninterrupted; the lab ${lab} was there before and stays: \`${make}\` removes it`);
  } else {
    if (isHeard) console.error(`\ninterrupted; taking the lab ${lab} away`);
    endChildren();
    const argv = ['-w', process.execPath, join(import.meta.dirname, 'main.ts'), 'down'];
    const options = { env: { ...process.env, LAB: lab }, stdio: isHeard ? 'inherit' : 'ignore' } as const;
    // In a session of its own: a second Ctrl-C must not end it half way. One that comes before it has this session ends setsid alone.
    let down = spawnSync('setsid', argv, options);
    while (down.signal !== null) down = spawnSync('setsid', argv, options);
    if (down.status !== 0 && isHeard) console.error(`something of the lab is left: \`${make}\` tries again`);
  }
  process.exit(128 + constants.signals[signal]);
}

/** Programs that this process has started and waits for; the lab's own processes are of no concern here, they are found by name. */
function endChildren(): void {
  const children = globSync('/proc/self/task/*/children').flatMap((file) => readFileSync(file, 'utf8').split(' '));
  for (const child of children.filter((text) => text.trim() !== '')) {
    try {
      process.kill(Number(child), 'SIGKILL');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  }
}
