/**
 * What a test file starts ends with it, however the file ends: its processes are in a cgroup, and its mounts and the names of its
 * network namespaces exist only for them. A lab of the file is removed as well. Files of temporary folders stay, as logs of a failure.
 */
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { cgroupFolders, entriesOf, processesIn, removeIfEmpty, unlessGone } from '../../lab/cgroups.ts';
import { processesOf } from '../../lab/component.ts';
import { killUntilNone, takeDown } from '../../lab/down.ts';
import { checkout, realStateDir } from '../../lab/layout.ts';
import { eventually, notYet } from '../../../lib/testing-eventually.ts';

const parent = '/isthmus-suite';
let count = 0;

export class Container {
  readonly #cgroup = `${parent}/${String(process.pid)}-${String(count++)}`;
  readonly #root = hierarchy();

  /** The command that runs a program in it. */
  commandOf(argv: readonly string[]): string[] {
    const folder = join(this.#root, this.#cgroup);
    mkdirSync(folder, { recursive: true });
    return [join(import.meta.dirname, 'contained.sh'), folder, ...argv];
  }

  /** CPU time of everything that ran in it, in milliseconds; undefined where the kernel does not count it. */
  cpuMs(): number | undefined {
    const file = join(this.#root, this.#cgroup, 'cpu.stat');
    const text = unlessGone(() => readFileSync(file, 'utf8'), ['ENOENT']);
    const usage = /^usage_usec (\d+)$/m.exec(text ?? '')?.[1];
    return usage === undefined ? undefined : Number(usage) / 1000;
  }

  /** Ends everything in it. @returns the names of the programs that still ran */
  async end(): Promise<string[]> {
    const left = processesIn(this.#cgroup);
    const names = new Set(left.map(programOf));
    const labs = labsWith(left);
    await killUntilNone(`the processes of ${this.#cgroup}`, () => processesIn(this.#cgroup));
    // The kernel holds it a little longer than it lists them.
    await eventually(`the end of ${this.#cgroup}`, () => {
      for (const folder of cgroupFolders(this.#cgroup)) removeIfEmpty(folder);
      return cgroupFolders(this.#cgroup).length === 0 || notYet('it is busy');
    });
    removeIfEmpty(join(this.#root, parent));
    for (const lab of labs) await takeDown(lab);
    return [...names].filter((name) => name !== '').sort();
  }
}

/** Empty if the process has just ended. */
function programOf(pid: number): string {
  return unlessGone(() => readFileSync(`/proc/${String(pid)}/comm`, 'utf8'), ['ENOENT', 'ESRCH'])?.trim() ?? '';
}

/** The labs of this checkout that have one of these processes. */
function labsWith(pids: readonly number[]): string[] {
  const labs = entriesOf(join(checkout, '.lab'));
  return labs.filter((lab) => processesOf(realStateDir(lab)).some((pid) => pids.includes(pid)));
}

/** One that takes any process: the second version of cgroups if the machine has it. */
function hierarchy(): string {
  const roots = ['unified', '', 'systemd', 'pids', 'freezer'].map((name) => join('/sys/fs/cgroup', name));
  const root = roots.find((folder) => existsSync(join(folder, 'cgroup.procs')));
  if (root === undefined) throw new Error('this machine has no cgroups in /sys/fs/cgroup, in which tests run');
  return root;
}
