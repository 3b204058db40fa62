/**
 * Takes a lab away: processes, namespaces, state. Works on whatever is left of one, also after a crash half way, and
 * touches nothing else: a process counts as the lab's by its environment, a namespace by the lab's name before the dash.
 */
import { existsSync, readdirSync, rmdirSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { restoreBuffers } from './buffers.ts';
import { killComponent, processesOf } from './component.ts';
import { publicStateDir, realStateDir } from './layout.ts';
import { cgroupOf, podProcesses, thaw } from './cgroups.ts';
import { removeLeftovers } from './leftovers.ts';
import { deleteNamespaces, namespacesOf, ownerOf } from './network.ts';
import { run } from './run.ts';
import { eventually, notYet } from '../../lib/testing-eventually.ts';

/** Nothing happens if there is no such lab. */
export async function takeDown(name: string): Promise<void> {
  const shown = publicStateDir(name);
  const dir = realStateDir(name);
  // labd first: it starts dead processes again.
  await killComponent({ dir, name: 'labd' });
  await killAll(dir);
  const hasState = existsSync(shown);
  // Without state here, namespaces of this name may be another checkout's.
  if (!hasState && (await ownerOf(name)) !== dir) return;
  const namespaces = namespacesOf(name);
  await killWithin(namespaces);
  thaw(cgroupOf(name));
  await killUntilNone(`the pods of lab ${name}`, () => podProcesses(name));
  await removeLeftovers(name, dir);
  await deleteNamespaces(namespaces);
  restoreBuffers();
  rmSync(dir, { recursive: true, force: true });
  if (!hasState) return;
  rmSync(shown, { force: true });
  const labs = dirname(shown);
  if (readdirSync(labs).length === 0) rmdirSync(labs);
}

/** Kills every process that was started in a directory of a lab, or below it. */
export async function killAll(dir: string): Promise<void> {
  await killUntilNone(`the processes of ${dir}`, () => processesOf(dir));
}

/** Kills what `find` finds until it finds nothing. @throws Error with the pids that live after ten seconds */
export async function killUntilNone(what: string, find: () => readonly number[]): Promise<void> {
  await eventually(
    `the end of ${what}`,
    () => {
      const left = find();
      for (const pid of left) kill(pid);
      return left.length === 0 || notYet(`pids ${left.join(', ')} live`);
    },
    10_000,
  );
}

/** A process that a user started in a namespace of the lab would keep the namespace alive. */
async function killWithin(namespaces: readonly string[]): Promise<void> {
  for (const netns of namespaces) {
    const pids = (await run(['ip', 'netns', 'pids', netns])).split('\n').filter(Boolean);
    for (const pid of pids) kill(Number(pid));
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
