/**
 * Repairs a lab after processes were killed or stopped: dead ones start with their recorded command line, stopped ones
 * continue. labd restarts supervised processes; labd itself is repaired here.
 */
import { existsSync } from 'node:fs';
import { startAndAsk } from './containerd.ts';
import { type Component, componentsIn, pidOf, startComponent, stateOf } from './component.ts';
import { cutPower, switchOn } from './kubelet/machine.ts';
import { configureGateway } from './lan.ts';
import type { Lab, NodeLayout } from './layout.ts';
import { configureNodeAddress } from './network.ts';
import { remakeDatabase, waitForBridge } from './ovn.ts';

/** Databases before their clients, so that no client starts with a refused connection. */
const order = [
  'etcd',
  'nb',
  'sb',
  'icnb',
  'icnb2',
  'icnb3',
  'icsb',
  'icsb2',
  'icsb3',
  'ovsdb-server',
  'zebra',
  'api-inside',
  'api-outside',
  'kube-apiserver',
];

/** Every directory that holds components. */
export function directoriesOf(lab: Lab): string[] {
  const clusters = lab.clusters.flatMap((cluster) => [cluster.dir, ...cluster.nodes.map((node) => node.dir)]);
  return [
    lab.dir,
    ...clusters,
    ...(lab.hub ? [lab.hub.dir] : []),
    ...lab.routers.map((router) => router.dir),
    ...lab.lans.map((lan) => lan.dir),
  ];
}

export function allComponents(lab: Lab): Component[] {
  return directoriesOf(lab).flatMap(componentsIn);
}

/** Returns the started or continued processes, as `<directory>/<name>` without the lab's own directory. */
export async function healLab(lab: Lab): Promise<string[]> {
  const healed: string[] = [];
  const ranked = allComponents(lab).toSorted((a, b) => rank(a) - rank(b));
  for (const component of ranked) {
    const state = stateOf(component);
    if (state === 'running' || (state === 'dead' && component.isSupervised)) continue;
    if (state === 'stopped') process.kill(pidOf(component) ?? 0, 'SIGCONT');
    else await startAgain(lab, component);
    healed.push(`${component.dir.slice(lab.dir.length + 1)}/${component.name}`.replace(/^\//, ''));
  }
  return healed;
}

function rank(component: Component): number {
  const at = order.indexOf(component.name);
  return at === -1 ? order.length : at;
}

async function startAgain(lab: Lab, component: Component): Promise<void> {
  if (component.dir === lab.hub?.dir) await remakeDatabase(lab.hub, component.name);
  const node = lab.clusters
    .flatMap((cluster): readonly NodeLayout[] => cluster.nodes)
    .find((n) => n.dir === component.dir);
  if (node !== undefined && component.name === 'containerd') return startAndAsk(node, component);
  if (node !== undefined && component.name === 'machine') return startMachineAgain(lab, node);
  await startComponent(component);
  const lan = lab.lans.find((one) => one.dir === component.dir);
  if (component.name === 'ovs-vswitchd' && lan !== undefined) await configureGateway(lan);
  if (component.name !== 'ovs-vswitchd' || node === undefined) return;
  await waitForBridge(node);
  await configureNodeAddress(lab, node);
}

/** A machine has new links after a power cut. */
async function startMachineAgain(lab: Lab, node: NodeLayout): Promise<void> {
  if (existsSync(`/run/netns/${node.netns}`)) await cutPower(lab, node);
  await switchOn(lab, node);
}
