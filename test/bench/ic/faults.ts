/** Fault injection in a lab. `heal` repairs each fault unless stated otherwise. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { componentsIn, killComponent, pidOf, stateOf, writeWhole } from '../../lab/component.ts';
import { type ClusterLayout, hubDatabaseServers, type HubLayout } from '../../lab/layout.ts';
import type { LabHandle } from '../../lab/lib/lab.ts';
import { run } from '../../lab/run.ts';

/** BFD declares a gateway dead after 300 ms without a message, and the last message may be 100 ms old when the machine stalls. */
export const stallAllowedMs = 200;

export function hubOf({ layout }: LabHandle): HubLayout {
  if (layout.hub === undefined) throw new Error(`lab ${layout.name} has no hub`);
  return layout.hub;
}

export function icDatabases(hub: HubLayout): string[] {
  return [...hubDatabaseServers(hub, 'icnb'), ...hubDatabaseServers(hub, 'icsb')];
}

export function signal(lab: LabHandle, place: string, component: string, name: 'SIGSTOP' | 'SIGCONT'): void {
  process.kill(lab.pid(place, component), name);
}

export const gatewayFaults = ['killed', 'frozen'] as const;
export type GatewayFault = (typeof gatewayFaults)[number];

/** Stops all forwarding of a gateway, such as `east/n1`. */
export async function loseGateway(lab: LabHandle, place: string, fault: GatewayFault): Promise<void> {
  if (fault === 'killed') await lab.kill(place, 'ovs-vswitchd');
  else signal(lab, place, 'ovs-vswitchd', 'SIGSTOP');
}

/** Freezes the hub and the interconnect databases while `work` runs. */
export async function whileHubIsFrozen<T>(lab: LabHandle, work: () => Promise<T>): Promise<T> {
  const parts = ['hub', ...icDatabases(hubOf(lab))];
  for (const part of parts) signal(lab, 'hub', part, 'SIGSTOP');
  try {
    return await work();
  } finally {
    for (const part of parts) signal(lab, 'hub', part, 'SIGCONT');
  }
}

/** Stops `ovn-northd` and the `ovn-controller` of all nodes of these clusters while `work` runs. */
export async function whileOvnIsStopped<T>(
  lab: LabHandle,
  clusters: readonly string[],
  work: () => Promise<T>,
): Promise<T> {
  const stopped = clusters.flatMap((name) => [
    [name, 'northd'] as const,
    ...lab.cluster(name).nodes.map((node) => [`${name}/${node.name}`, 'ovn-controller'] as const),
  ]);
  for (const [place, component] of stopped) signal(lab, place, component, 'SIGSTOP');
  try {
    return await work();
  } finally {
    for (const [place, component] of stopped) signal(lab, place, component, 'SIGCONT');
  }
}

export async function killDatabases(lab: LabHandle): Promise<void> {
  await Promise.all(icDatabases(hubOf(lab)).map((name) => lab.kill('hub', name)));
}

/** Kills the interconnect databases and removes their files; `heal` starts them empty. */
export async function wipeDatabases(lab: LabHandle): Promise<void> {
  await killDatabases(lab);
  const { dir } = hubOf(lab);
  for (const name of icDatabases(hubOf(lab))) rmSync(join(dir, `${name}.db`));
}

/**
 * Cuts the power of a whole cluster: its links first, then all its processes. labd is stopped, so that it
 * restarts none of them. Returns the time of the start, by performance.now().
 */
export async function killCluster(lab: LabHandle, cluster: ClusterLayout): Promise<number> {
  process.kill(pidOf({ dir: lab.layout.dir, name: 'labd' }) ?? 0, 'SIGSTOP');
  const started = performance.now();
  await setLinks(cluster, 'down');
  const dirs = [cluster.dir, ...cluster.nodes.map(({ dir }) => dir)];
  await Promise.all(dirs.flatMap(componentsIn).map((component) => killComponent(component)));
  return started;
}

/** Restores the cluster's links and starts all its processes; resolves when they have been started. */
export async function reviveCluster(lab: LabHandle, cluster: ClusterLayout): Promise<void> {
  await setLinks(cluster, 'up');
  await lab.heal();
}

async function setLinks({ netns, nodes }: ClusterLayout, state: 'up' | 'down'): Promise<void> {
  const names = [netns, ...nodes.map((node) => node.netns)];
  await Promise.all(names.map((name) => run(['ip', '-n', name, 'link', 'set', 'up0', state])));
}

/** Restarts the hub with changed flags, as a changed workload would; returns the former values. */
export async function restartHub(
  lab: LabHandle,
  flags: Readonly<Record<string, string | undefined>>,
): Promise<Record<string, string | undefined>> {
  const { dir } = hubOf(lab);
  const component = componentsIn(dir).find(({ name }) => name === 'hub');
  if (component === undefined) throw new Error('the lab has no hub process');
  const argv = [...component.argv];
  const before: Record<string, string | undefined> = {};
  for (const [flag, value] of Object.entries(flags)) {
    const at = argv.indexOf(`--${flag}`);
    before[flag] = at === -1 ? undefined : argv[at + 1];
    if (at !== -1) argv.splice(at, 2);
    if (value !== undefined) argv.push(`--${flag}`, value);
  }
  writeWhole(join(dir, 'hub.cmd.json'), `${JSON.stringify({ ...component, argv }, null, 1)}\n`);
  const pid = lab.pid('hub', 'hub');
  await lab.kill('hub', 'hub');
  await lab.waitForRestart('hub', 'hub', pid);
  return before;
}

/** Whether a program's --help names a flag. */
export async function hubHasFlag(lab: LabHandle, flag: string): Promise<boolean> {
  const component = componentsIn(hubOf(lab).dir).find(({ name }) => name === 'hub');
  const [node = '', main = ''] = component?.argv ?? [];
  return (await run([node, main, 'serve', '--help'])).includes(`--${flag}`);
}

export function isDead(lab: LabHandle, place: string, component: string): boolean {
  return stateOf({ dir: join(lab.layout.dir, place), name: component }) === 'dead';
}
