/**
 * Creates a lab: namespaces, control planes, OVN, nodes, hub, routers, then the processes of Isthmus. In: name, topology, rooms
 * to leave out; out: a lab in which every process runs. Independent parts start concurrently.
 */
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { installation } from 'ovsdb-client/testing';
import { freePorts } from '../../lib/testing-ports.ts';
import { raiseBuffers } from './buffers.ts';
import { bgpManifests, registerNodes } from './cluster-objects.ts';
import {
  installChart,
  makeNamespaces,
  nodeAccounts,
  renderChart,
  writeAccountKubeconfig,
  writeNodeKubeconfigs,
} from './chart.ts';
import { makeCniBin } from './cni-folder.ts';
import { startComponent, writeWhole } from './component.ts';
import { runsContainerd, startContainerd } from './containerd.ts';
import { startControlPlane } from './control-plane.ts';
import { takeDown } from './down.ts';
import { directoriesOf, healLab } from './heal.ts';
import { homeOfHub, makeTokens, startHub } from './hub.ts';
import { applyDns } from './kubelet/dns.ts';
import { imageStore } from './kubelet/image-store.ts';
import { makeMachine, waitForNodes } from './kubelet/machine.ts';
import { startLan } from './lan.ts';
import {
  checkout,
  type ClusterLayout,
  type Lab,
  type LabRecord,
  layOut,
  publicStateDir,
  readRecord,
  realStateDir,
  recordFile,
  type Room,
  runsKubelets,
} from './layout.ts';
import { makeNetwork, namespacesOf } from './network.ts';
import { applyAll, type Manifest } from './objects.ts';
import { startCentral, startNode } from './ovn.ts';
import { clusterRooms, missingRooms, node24 } from './rooms.ts';
import { startRouter } from './router.ts';
import { checkTopology, readTopology, type Topology } from './topology.ts';

export interface UpOptions {
  readonly name: string;
  /** A path; the default topology if absent. */
  readonly topology: string | undefined;
  /** Version of OVN for all clusters without one of their own; by default that of the topology. */
  readonly ovn: string | undefined;
  readonly without: readonly Room[];
  /** Reports each completed step. */
  readonly say: (step: string) => void;
}

export const defaultTopology: string = join(import.meta.dirname, 'topologies/default.yaml');

/** Starts a lab, or the dead processes of a running one. ready.ts waits for readiness. @throws Error naming the part that failed to start. */
export async function bringUp(options: UpOptions): Promise<Lab> {
  const record = readRecord(options.name);
  // After a reboot the record exists without the namespaces.
  if (record?.isComplete && namespacesOf(options.name).length > 0) return resume(record, options);
  await takeDown(options.name);
  const strangers = namespacesOf(options.name);
  if (strangers.length > 0) {
    throw new Error(
      `namespaces ${strangers.slice(0, 3).join(', ')}… exist, but not from this checkout: choose another name with LAB=…`,
    );
  }
  return make(options);
}

async function resume(record: LabRecord, options: UpOptions): Promise<Lab> {
  const { topology, ovn } = options;
  const isOther =
    topology === undefined
      ? ovn !== undefined && ovn !== record.topology.ovn
      : JSON.stringify(wantedTopology(options)) !== JSON.stringify(record.topology);
  if (isOther)
    throw new Error(
      `lab ${record.name} is up with another topology or OVN: \`make lab-down\` first, or choose another name with LAB=…`,
    );
  const lab = layOut(record);
  const healed = await healLab(lab);
  options.say(healed.length === 0 ? 'the lab is up already' : `the lab was up; started again: ${healed.join(', ')}`);
  return lab;
}

function wantedTopology(options: UpOptions): Topology {
  const topology = readTopology(options.topology ?? defaultTopology);
  return options.ovn === undefined ? topology : checkTopology({ ...topology, ovn: options.ovn }, 'ISTHMUS_OVN');
}

async function make(options: UpOptions): Promise<Lab> {
  const topology = wantedTopology(options);
  // Checked before anything is created: the requested OVN may not be installed.
  for (const { ovn } of [topology, ...topology.clusters]) installation(ovn ?? '');
  const apiPorts = await freePorts(topology.clusters.length);
  const record: LabRecord = { name: options.name, topology, without: options.without, apiPorts, isComplete: false };
  const lab = layOut(record);
  const missing = missingRooms(lab);
  if (missing.length > 0)
    throw new Error(
      `there is no ${missing.join('/main.ts, no ')}/main.ts: leave rooms out with LAB_WITHOUT=${missing.join(',')}`,
    );
  makeStateDir(options.name);
  for (const dir of directoriesOf(lab)) mkdirSync(dir, { recursive: true });
  const [machines, others] = [lab.clusters.filter(runsKubelets), lab.clusters.filter((one) => !runsKubelets(one))];
  for (const node of others.flatMap(({ nodes }) => nodes)) makeCniBin(node);
  writeRecord(record);
  raiseBuffers();
  await makeNetwork(lab);
  options.say('namespaces and links');
  const store = machines.length > 0 ? imageStore().then(announce(options, 'images')) : Promise.resolve('');
  const [api, accounts] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const steps = { api: api.promise, accounts: accounts.promise };
  const hub = lab.hub && startHub(lab, lab.hub, steps).then(announce(options, 'hub'));
  const tokens = lab.hub ? makeTokens(lab, lab.hub, steps) : Promise.resolve(new Map<string, string>());
  const progress = (cluster: ClusterLayout): Progress => ({
    tokens,
    say: options.say,
    ...(cluster === homeOfHub(lab) ? { onApi: api.resolve, onAccounts: accounts.resolve } : {}),
  });
  await Promise.all([
    ...lab.routers.map((router) => startRouter(lab, router).then(announce(options, `router ${router.name}`))),
    ...lab.lans.map((lan) => startLan(lab, lan).then(announce(options, `lan ${lan.name}`))),
    ...others.map((cluster) => startCluster(lab, cluster, progress(cluster))),
    ...machines.map((cluster) => startMachines(lab, cluster, { say: options.say, store })),
    hub,
    tokens,
  ]);
  if (others.length > 0)
    await startComponent({
      dir: lab.dir,
      name: 'labd',
      argv: [node24, join(checkout, 'test/lab/labd/main.ts'), lab.name],
    });
  writeRecord({ ...record, isComplete: true });
  return lab;
}

function announce<T>(options: UpOptions, step: string): (value: T) => T {
  return (value) => {
    options.say(step);
    return value;
  };
}

/** Dependencies and progress reports of a cluster's start. */
interface Progress {
  readonly tokens: Promise<ReadonlyMap<string, string>>;
  readonly say: (step: string) => void;
  readonly onApi?: () => void;
  readonly onAccounts?: () => void;
}

async function startCluster(lab: Lab, cluster: ClusterLayout, progress: Progress): Promise<void> {
  const { say } = progress;
  await Promise.all([
    startCentral(cluster).then(() => say(`${cluster.name}: OVN central`)),
    Promise.all(cluster.nodes.map((node) => startNode(lab, node))).then(() =>
      say(`${cluster.name}: Open vSwitch on the nodes`),
    ),
    startContainerds(cluster, say),
    startKubernetes(lab, cluster, progress),
  ]);
  await Promise.all(clusterRooms(lab, cluster).map(startComponent));
  say(`${cluster.name}: Isthmus's processes started`);
}

/** Starts a cluster of machines: Kubernetes only; users install Isthmus. */
async function startMachines(
  lab: Lab,
  cluster: ClusterLayout,
  { say, store }: { readonly say: (step: string) => void; readonly store: Promise<string> },
): Promise<void> {
  const kube = await startControlPlane(cluster);
  try {
    say(`${cluster.name}: Kubernetes API`);
    await applyDns(cluster);
    const images = await store;
    await Promise.all(cluster.nodes.map((node) => makeMachine(lab, cluster, node, images)));
    await waitForNodes(kube, cluster);
    say(`${cluster.name}: kubelets have registered ${cluster.nodes.map(({ name }) => name).join(', ')}`);
  } finally {
    await kube.close();
  }
}

async function startContainerds(cluster: ClusterLayout, say: (step: string) => void): Promise<void> {
  const nodes = cluster.nodes.filter(runsContainerd);
  await Promise.all(nodes.map(startContainerd));
  if (nodes.length > 0) say(`${cluster.name}: containerd on ${nodes.map(({ name }) => name).join(', ')}`);
}

async function startKubernetes(
  lab: Lab,
  cluster: ClusterLayout,
  { tokens, say, onApi, onAccounts }: Progress,
): Promise<void> {
  const [kube, manifests] = await Promise.all([
    startControlPlane(cluster).then(async (client) => {
      say(`${cluster.name}: Kubernetes API`);
      await makeNamespaces(client);
      onApi?.();
      return client;
    }),
    chartOf(lab, cluster, tokens),
  ]);
  await installChart(kube, manifests);
  const accounts = manifests
    .filter((manifest) => manifest.kind === 'ServiceAccount')
    .map((manifest) => manifest.metadata.name)
    .filter((account) => !nodeAccounts.some((known) => known === account));
  await Promise.all([
    registerNodes(kube, cluster).then(() =>
      Promise.all(cluster.nodes.map((node) => writeNodeKubeconfigs(kube, cluster, node))),
    ),
    ...accounts.map((account) => writeAccountKubeconfig(kube, cluster, account)),
    applyAll(kube, bgpManifests(lab, cluster)),
  ]);
  await kube.close();
  onAccounts?.();
  say(`${cluster.name}: chart, accounts and nodes`);
}

async function chartOf(
  lab: Lab,
  cluster: ClusterLayout,
  tokens: Promise<ReadonlyMap<string, string>>,
): Promise<Manifest[]> {
  const token = cluster.joins ? (await tokens).get(cluster.name) : undefined;
  const join = token !== undefined && lab.hub ? { hub: `${lab.hub.address}:6650`, token } : undefined;
  return renderChart(cluster, { join, hubAddress: cluster === homeOfHub(lab) ? lab.hub?.address : undefined });
}

function makeStateDir(name: string): void {
  const real = realStateDir(name);
  const shown = publicStateDir(name);
  mkdirSync(dirname(shown), { recursive: true });
  mkdirSync(real, { recursive: true });
  if (real !== shown) symlinkSync(real, shown);
  writeFileSync(
    join(real, 'README'),
    'State of one lab: pid files, logs, sockets, databases. `make lab-down` removes it.\n',
  );
}

function writeRecord(record: LabRecord): void {
  writeWhole(recordFile(record.name), `${JSON.stringify(record, null, 1)}\n`);
}
