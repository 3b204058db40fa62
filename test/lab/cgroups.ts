/**
 * The cgroups of a lab: one for the pods of each node, and for a machine with a kubelet for all that runs on it. In every hierarchy of
 * cgroup v1, or in the one of cgroup v2.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { NodeLayout } from './layout.ts';

/** The cgroup of a node's pods. */
export function cgroupParent(lab: string, node: Pick<NodeLayout, 'cluster' | 'name'>): string {
  return `${cgroupOf(lab)}/${node.cluster}-${node.name}`;
}

export function cgroupOf(lab: string): string {
  return `/isthmus-lab/${lab}`;
}

/** The processes in the cgroups of a lab's pods; they are no children of anything that the lab started. */
export function podProcesses(lab: string): number[] {
  return processesIn(cgroupOf(lab));
}

/** The processes in the cgroups of a node: its pods, and on a machine of its own all others of it, too. */
export function nodeProcesses(lab: string, node: Pick<NodeLayout, 'cluster' | 'name'>): number[] {
  return processesIn(cgroupParent(lab, node));
}

/**
 * Lets the processes of a cgroup, and of all below it, run: a frozen process does not end. A container runtime that is killed while it
 * ends a container leaves it frozen.
 */
export function thaw(cgroup: string): void {
  for (const folder of cgroupFolders(cgroup))
    for (const [file, value] of [
      ['freezer.state', 'THAWED'],
      ['cgroup.freeze', '0'],
    ] as const) {
      const path = join(folder, file);
      if (existsSync(path)) unlessGone(() => writeFileSync(path, value));
    }
}

/** Removes the cgroups of a node that has no processes. */
export function removeCgroups(lab: string, node: Pick<NodeLayout, 'cluster' | 'name'>): void {
  for (const folder of cgroupFolders(cgroupParent(lab, node))) unlessGone(() => rmdirSync(folder));
}

/** The processes in a cgroup and in all below it, in every hierarchy. */
export function processesIn(cgroup: string): number[] {
  return pidsOf(cgroupFolders(cgroup));
}

function pidsOf(folders: readonly string[]): number[] {
  const pids = folders.flatMap((folder) =>
    (unlessGone(() => readFileSync(join(folder, 'cgroup.procs'), 'utf8')) ?? '').split('\n'),
  );
  return [...new Set(pids.filter(Boolean).map(Number))];
}

/** One of the processes of a pod that a kubelet runs; undefined if none runs. */
export function podProcess(lab: string, node: Pick<NodeLayout, 'cluster' | 'name'>, uid: string): number | undefined {
  return pidsOf(cgroupFolders(cgroupParent(lab, node)).filter((folder) => folder.includes(`/pod${uid}/`)))[0];
}

export interface Hierarchy {
  /** Its folder in /sys/fs/cgroup. */
  readonly name: string;
  /** By which it is mounted, such as `cpu,cpuacct`. */
  readonly options: string;
}

/** @throws Error on a machine without cgroup v1 */
export function cgroupHierarchies(): Hierarchy[] {
  const found = readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .flatMap((line): Hierarchy[] => {
      const [mount = '', rest = ''] = line.split(' - ');
      const [type, , options = ''] = rest.split(' ');
      const name = /^\/sys\/fs\/cgroup\/([^/ ]+)$/.exec(mount.split(' ')[4] ?? '')?.[1];
      if (type !== 'cgroup' || name === undefined) return [];
      const controllers = options.split(',').filter((word) => !['rw', 'xattr', 'clone_children'].includes(word));
      const isNamed = controllers.every((word) => word.startsWith('name='));
      return [{ name, options: [...(isNamed ? ['none'] : []), ...controllers].join(',') }];
    });
  if (found.length === 0)
    throw new Error('this machine has no cgroup v1 in /sys/fs/cgroup: the lab cannot start nodes with kubelets here');
  return found;
}

/** A machine has cores of its own; here its programs must not wait for everything else that this one runs. */
const cpuShares = '16384';

/** Makes the cgroup of a machine in one hierarchy, with all above it. */
export function makeCgroup(hierarchy: string, lab: string, node: Pick<NodeLayout, 'cluster' | 'name'>): void {
  const controllers = hierarchy.split(',');
  const root = join('/sys/fs/cgroup', hierarchy);
  let folder = root;
  for (const part of cgroupParent(lab, node).split('/').filter(Boolean)) {
    folder = join(folder, part);
    mkdirSync(folder, { recursive: true });
    if (controllers.includes('cpu')) writeFileSync(join(folder, 'cpu.shares'), cpuShares);
    if (!controllers.includes('cpuset')) continue;
    // A new one is empty, and no process can be put into an empty one.
    for (const file of ['cpuset.cpus', 'cpuset.mems'])
      writeFileSync(join(folder, file), readFileSync(join(root, file), 'utf8').trim());
    writeFileSync(join(folder, 'cgroup.clone_children'), '1');
  }
}

/** A cgroup in every hierarchy that has it. */
export function cgroupRoots(name: string): string[] {
  const root = '/sys/fs/cgroup';
  return ['', ...entriesOf(root)].map((hierarchy) => join(root, hierarchy, name)).filter(isFolder);
}

/** The folders of a cgroup and of all below it in every hierarchy, those below before those above. */
export function cgroupFolders(name: string): string[] {
  return cgroupRoots(name).flatMap(foldersOf);
}

function foldersOf(folder: string): string[] {
  const below = entriesOf(folder).map((name) => join(folder, name));
  return [...below.filter(isFolder).flatMap(foldersOf), folder];
}

export function entriesOf(folder: string): string[] {
  return unlessGone(() => readdirSync(folder)) ?? [];
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

/** Another lab may be about to use the folder. */
export function removeIfEmpty(folder: string): void {
  unlessGone(() => rmdirSync(folder), ['ENOENT', 'ENOTEMPTY', 'EBUSY']);
}

/** Other labs may remove their folders meanwhile, and one folder may be found under two names. */
export function unlessGone<T>(act: () => T, codes: readonly string[] = ['ENOENT', 'ENODEV', 'ENOTDIR']): T | undefined {
  try {
    return act();
  } catch (error) {
    if (codes.includes((error as NodeJS.ErrnoException).code ?? '')) return undefined;
    throw error;
  }
}
