/**
 * Leftovers of a killed containerd: shims and containers, which outlive it by design, mounts, cgroups, and files
 * in folders of the machine. They are found by their owner: a cgroup named after the lab, or a path below its directory.
 */
import { createHash } from 'node:crypto';
import { globSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { cgroupFolders, cgroupOf, cgroupRoots, entriesOf, removeIfEmpty, unlessGone } from './cgroups.ts';
import { run } from './run.ts';
import { eventually, notYet } from '../../lib/testing-eventually.ts';

/** Mount points below a directory, those mounted last before those they may lie on. */
export function mountsBelow(dir: string): string[] {
  return readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .map((line) =>
      (line.split(' ')[4] ?? '').replaceAll(/\\(\d{3})/g, (_, code: string) => String.fromCharCode(parseInt(code, 8))),
    )
    .filter((path) => path.startsWith(`${dir}/`))
    .toReversed();
}

/** Removes the leftovers of a lab's containerds after their processes have ended. @throws Error if the kernel still holds one */
export async function removeLeftovers(lab: string, dir: string): Promise<void> {
  removeShimSockets(dir);
  for (const path of mountsBelow(dir)) await run(['umount', path]);
  await removeCgroupsOf(lab);
  for (const folder of cgroupRoots('/isthmus-lab')) removeIfEmpty(folder);
  removeCachedResults(dir);
}

/** A process that the kernel is still ending is in no list, and yet keeps its cgroup. */
async function removeCgroupsOf(lab: string): Promise<void> {
  await eventually(
    `the end of the cgroups of lab ${lab}`,
    () => {
      for (const folder of cgroupFolders(cgroupOf(lab))) removeIfEmpty(folder);
      const left = cgroupFolders(cgroupOf(lab));
      return left.length === 0 || notYet(left.join(', '));
    },
    10_000,
  );
}

const shimFolder = '/run/containerd';

/**
 * Shims listen in a folder of the machine, under a name derived from containerd's socket and the container. A killed shim
 * leaves its socket, and containerd forgets it; the log of containerd contains the ids of all its containers.
 */
function removeShimSockets(dir: string): void {
  for (const log of globSync('*/*/containerd.log', { cwd: dir })) {
    const socket = join(dir, dirname(log), 'containerd.sock');
    const ids = new Set(readFileSync(join(dir, log), 'utf8').match(/\b[0-9a-f]{64}\b/g));
    for (const id of ids) {
      const name = createHash('sha256').update(`${socket}/k8s.io/${id}`).digest('hex');
      rmSync(join(shimFolder, 's', name), { force: true });
    }
  }
  // `fifo` exists if `ctr` was run by hand.
  for (const name of ['s', 'fifo']) removeIfEmpty(join(shimFolder, name));
  removeIfEmpty(shimFolder);
}

/** The library that calls plugins keeps their results in a folder of the machine until DEL; each names its network namespace. */
function removeCachedResults(dir: string): void {
  const folder = '/var/lib/cni';
  const results = join(folder, 'results');
  for (const name of entriesOf(results)) {
    const file = join(results, name);
    if (unlessGone(() => readFileSync(file, 'utf8'))?.includes(`${dir}/`)) rmSync(file, { force: true });
  }
  removeIfEmpty(results);
  removeIfEmpty(folder);
}
