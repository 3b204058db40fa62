/**
 * A cluster offers thousands of Subnets over four paths. In the other cluster the last of them is refused to a new Subnet, forwarded by
 * the speakers' nodes and announced to the router; all three end when the Subnet is deleted, and the last two when its cluster has no
 * gateway. A restart of every program that acts on the prefixes writes nothing. OVN is stopped while the Subnets are created: its
 * work on thousands of switches is not measured.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { openOvsdb } from 'ovsdb-client';
import { forwardingTable } from '../../../daemon/model/interconnect.ts';
import { apiVersionOf, bgpAdvertisements, subnets } from '../../../lib/kube/resources.ts';
import { remoteRoutes } from '../../../lib/slices/remote-routes.ts';
import type { KubeClient } from '../../../lib/kube/types.ts';
import { inNetns, run } from '../../lab/run.ts';
import { Vty } from '../../system/bgp/vty.ts';
import { manyPrefixes } from '../../system/route-lists.ts';
import { addWorkload, conditionsOf, removeWorkload, subnetManifest, waitForPods } from '../../system/workload.ts';
import { apiWrites, writesBetween } from '../api-writes.ts';
import { prefixesOf, untilRoute } from '../router-polls.ts';
import { forAll } from '../scale-pods.ts';
import { type IcBed, namespace } from './bed.ts';
import { loseGateway, restartHub, whileOvnIsStopped } from './faults.ts';
import type { IcRow, Measurement } from './measurement.ts';
import { eventually, type NotYet, notYet } from '../../../lib/testing-eventually.ts';

const [here, there] = ['east', 'west'] as const;
const count = Number(process.env['IC_SUBNETS'] ?? 5000);
const paths = 4;
const bulkTimeoutMs = 900_000;
const timeoutMs = 120_000;
/** So long nothing may be written after a restart. */
const quietMs = 10_000;
const nameOf = (at: number): string => `many-${String(at)}`;
/** The Subnet here that overlaps with the last one there. */
const rival = 'rival';

/** What programs here make of one prefix of the other cluster, and since when. */
class Prefix {
  readonly #bed: IcBed;
  readonly #vty: Vty;
  readonly cidr: string;

  constructor(bed: IcBed, vty: Vty, cidr: string) {
    this.#bed = bed;
    this.#vty = vty;
    this.cidr = cidr;
  }

  /** When the nodes of all speakers have a route for forwarded packets, or none of them any more. */
  async untilForwarded(isIt: boolean): Promise<number> {
    const { nodes } = this.#bed.lab.cluster(here);
    const show = ['route', 'show', 'table', String(forwardingTable), 'exact', this.cidr];
    const isDone = async (): Promise<true | NotYet> => {
      const shown = await Promise.all(nodes.map(({ netns }) => run(['ip', '-n', netns, ...show]).catch(() => '')));
      return shown.every((text) => (text.trim() !== '') === isIt) || notYet(shown.join('; '));
    };
    await eventually(`${this.cidr} to be ${isIt ? '' : 'no longer '}forwarded`, isDone, timeoutMs, 20);
    return performance.now();
  }

  /** When the router has the prefix of every speaker, or of none any more. */
  async untilAnnounced(isIt: boolean): Promise<number> {
    const { nodes } = this.#bed.lab.cluster(here);
    await Promise.all(
      nodes.map(({ address }) => untilRoute(this.#vty, this.cidr, address, { isThere: isIt, everyMs: 10, timeoutMs })),
    );
    return performance.now();
  }

  /** Creates a Subnet here that has the prefix, and waits until it is refused. */
  async untilRefused(): Promise<number> {
    await this.#bed.addSubnet(here, rival, this.cidr);
    return this.#untilReady('False', 'InterconnectOverlap');
  }

  untilAllowed(): Promise<number> {
    return this.#untilReady('True');
  }

  async #untilReady(status: string, reason?: string): Promise<number> {
    const isDone = async (): Promise<true | NotYet> => {
      const ready = (await conditionsOf(this.#bed.lab, here, 'subnet', rival)).find(({ type }) => type === 'Ready');
      return (ready?.status === status && (reason ?? ready.reason) === ready.reason) || notYet(JSON.stringify(ready));
    };
    await eventually(`Ready of ${rival} to be ${status} ${reason ?? ''}`, isDone, timeoutMs, 20);
    return performance.now();
  }
}

async function createSubnets(kube: KubeClient, prefixes: readonly string[], from = 0): Promise<void> {
  await forAll(prefixes, (cidrBlock, at) =>
    kube.create(subnets, subnetManifest(nameOf(from + at), { cidrBlock, natOutgoing: false })),
  );
}

/** Prefixes of the other cluster in the slices, by their state. */
async function listed(kube: KubeClient): Promise<ReadonlyMap<string, number>> {
  const entries = (await kube.list(remoteRoutes.slices)).flatMap((raw) => remoteRoutes.parse(raw));
  const states = Map.groupBy(entries, ({ state }) => state);
  return new Map([...states].map(([state, members]) => [state, members.length]));
}

/** When so many prefixes are in use here. */
async function untilActive(kube: KubeClient, wanted: number): Promise<number> {
  const isDone = async (): Promise<true | NotYet> => {
    const states = await listed(kube);
    return states.get('Active') === wanted || notYet([...states].map((state) => state.join(' ')).join(', '));
  };
  await eventually(`${String(wanted)} active prefixes of ${there}`, isDone, bulkTimeoutMs, 1000);
  return performance.now();
}

/** A write to the API server of the other cluster until a reader there has it: what each change begins with. */
async function bareWriteMs(kube: KubeClient): Promise<number> {
  const started = performance.now();
  await kube.patch(subnets, { name: nameOf(0) }, 'merge', { metadata: { annotations: { bench: 'x' } } });
  await kube.get(subnets, { name: nameOf(0) });
  return performance.now() - started;
}

/** Lines that `ip monitor` shows of routes and rules of a node, and what it takes to stop it. */
function watchKernel(netns: string): () => Promise<readonly string[]> {
  const [command = '', ...args] = inNetns(netns, ['ip', 'monitor', 'route', 'rule']);
  const monitor = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  let text = '';
  monitor.stdout.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
  const ended = once(monitor, 'close');
  return async () => {
    monitor.kill();
    await ended;
    return text.split('\n').filter((line) => line !== '');
  };
}

/** What is written when every program here that acts on the prefixes is killed and starts again. */
async function restartWrites(bed: IcBed, kube: KubeClient, vty: Vty): Promise<ReadonlyMap<string, number>> {
  const { lab } = bed;
  const { nodes, dir } = lab.cluster(here);
  const programs = [
    [here, 'controller'],
    [here, 'interconnect'],
    ...nodes.flatMap(({ name }) => ['daemon', 'speaker'].map((program) => [`${here}/${name}`, program] as const)),
  ] as const;
  const northbound = await openOvsdb({
    remotes: [`unix:${join(dir, 'nb.sock')}`],
    database: 'OVN_Northbound',
    monitor: {
      Logical_Router: ['static_routes', 'policies'],
      Logical_Router_Static_Route: ['ip_prefix'],
      Logical_Switch: ['ports'],
    },
  });
  let rows = 0;
  northbound.subscribe((changes) => void (rows += changes.length));
  const stops = nodes.map(({ netns }) => watchKernel(netns));
  const updates = async (): Promise<number> => {
    const text = await vty.command('show bgp neighbors json');
    const neighbors = Object.values(JSON.parse(text) as Record<string, { messageStats?: { updatesRecv: number } }>);
    return neighbors.reduce((sum, { messageStats }) => sum + (messageStats?.updatesRecv ?? 0), 0);
  };
  const [before, updatesBefore] = [await apiWrites(kube), await updates()];
  for (const [place = '', program = ''] of programs) {
    const pid = lab.pid(place, program);
    await lab.kill(place, program);
    await lab.waitForRestart(place, program, pid);
  }
  await pause(quietMs * 3);
  const written = writesBetween(before, await apiWrites(kube));
  const kernel = (await Promise.all(stops.map((stop) => stop()))).flat();
  for (const line of kernel.slice(0, 20)) console.error(`           kernel: ${line}`);
  for (const [what, number] of written) console.error(`           API: ${String(number)} ${what}`);
  await northbound.close();
  const routes = [...written].filter(([what]) => /subnets|routeslices|routes/.test(what));
  return new Map([
    ['rows of the northbound database', rows],
    ['routes and rules of nodes', kernel.length],
    ['Subnets and slices', routes.reduce((sum, [, number]) => sum + number, 0)],
    ['UPDATEs to the router', (await updates()) - updatesBefore],
  ]);
}

async function measure(bed: IcBed): Promise<IcRow[]> {
  const { lab } = bed;
  const [kube, remote] = [lab.kube(here), lab.kube(there)];
  const vty = await Vty.open(join(lab.router('tor').dir, 'bgpd.vty'));
  const { paths: pathsBefore } = await restartHub(lab, { paths: String(paths) });
  try {
    await kube.create(bgpAdvertisements, {
      apiVersion: apiVersionOf(bgpAdvertisements),
      kind: bgpAdvertisements.kind,
      metadata: { name: 'others' },
      spec: { source: 'Interconnect' },
    });
    await bed.settle();
    return await inSteps(bed, { kube, remote, vty });
  } finally {
    await lab.heal();
    await kube.delete(bgpAdvertisements, { name: 'others' });
    await restartHub(lab, { paths: pathsBefore });
    vty.close();
    await Promise.all([kube.close(), remote.close()]);
  }
}

async function inSteps(
  bed: IcBed,
  { kube, remote, vty }: { readonly kube: KubeClient; readonly remote: KubeClient; readonly vty: Vty },
): Promise<IcRow[]> {
  const { lab } = bed;
  const rows: IcRow[] = [];
  const say = (what: string): void => console.log(`           ${new Date().toISOString().slice(11, 19)} ${what}`);
  const [first, ...more] = [...manyPrefixes(count + 1)];
  const prefixes = [first ?? '', ...more.slice(0, -1)];
  const [last, one] = [prefixes.at(-1) ?? '', more.at(-1) ?? ''];
  const before = (await listed(kube)).get('Active') ?? 0;

  const bulk = await whileOvnIsStopped(lab, [here, there], async () => {
    const started = performance.now();
    await createSubnets(remote, prefixes);
    const createdMs = performance.now() - started;
    say(`created in ${createdMs.toFixed(0)} ms`);
    const activeMs = (await untilActive(kube, before + count)) - started;
    say(`active after ${activeMs.toFixed(0)} ms`);
    const prefix = new Prefix(bed, vty, last);
    const forwardedMs = (await prefix.untilForwarded(true)) - started;
    say(`forwarded after ${forwardedMs.toFixed(0)} ms`);
    const announced = async (): Promise<true | NotYet> => {
      const counts = await Promise.all(lab.cluster(here).nodes.map(({ address }) => prefixesOf(vty, address)));
      return counts.every((number) => number >= count) || notYet(counts.join(', '));
    };
    await eventually('all to be announced', announced, bulkTimeoutMs, 100);
    const announcedMs = performance.now() - started;
    say(`announced after ${announcedMs.toFixed(0)} ms`);
    return { createdMs, activeMs, forwardedMs, announcedMs };
  });
  const title = `${count.toLocaleString('en')} Subnets over ${String(paths)} paths`;
  const inBulk = { unit: 's', floor: bulk.createdMs / 1000, floorIs: 'the API server creates the Subnets' } as const;
  rows.push(
    {
      ...inBulk,
      what: `${title}: all in the slices here, from the first creation`,
      ours: bulk.activeMs / 1000,
      target: 300,
    },
    { ...inBulk, what: `${title}: the last one forwarded by both nodes`, ours: bulk.forwardedMs / 1000, target: 300 },
    { ...inBulk, what: `${title}: all announced to the router by both`, ours: bulk.announcedMs / 1000, target: 300 },
  );

  const floor = await bareWriteMs(remote);
  const change = (what: string, ours: number): IcRow => ({
    what: `${title}: ${what}`,
    unit: 'ms',
    ours,
    target: 5000,
    floor,
    floorIs: 'one write to the API server there, read back',
  });
  const prefix = new Prefix(bed, vty, one);
  await whileOvnIsStopped(lab, [here, there], async () => {
    const created = performance.now();
    await createSubnets(remote, [one], count);
    const [forwarded, announced] = await Promise.all([prefix.untilForwarded(true), prefix.untilAnnounced(true)]);
    say('one more');
    rows.push(
      change('one more, until both nodes forward it', forwarded - created),
      change('one more, until the router has it from both', announced - created),
    );
    const asked = performance.now();
    rows.push(change('a Subnet here with the same prefix, until it is refused', (await prefix.untilRefused()) - asked));
    say('refused');
    const deleted = performance.now();
    const deletion = remote.delete(subnets, { name: nameOf(count) });
    const [allowed, unforwarded, withdrawn] = await Promise.all([
      prefix.untilAllowed(),
      prefix.untilForwarded(false),
      prefix.untilAnnounced(false),
      deletion,
    ]);
    say('deleted');
    rows.push(
      change('it is deleted, until the Subnet here is allowed', allowed - deleted),
      change('it is deleted, until no node forwards it', unforwarded - deleted),
      change('it is deleted, until the router has it no more', withdrawn - deleted),
    );
    await bed.removeSubnet(here, rival);
  });
  rows.push(...(await restartRows(bed, kube, vty, title)));
  rows.push(...(await gatewayRows(bed, vty, last, change)));
  await bed.untilPathsAreUp();
  const deletedMs = await whileOvnIsStopped(lab, [here, there], async () => {
    const started = performance.now();
    await forAll(prefixes, (_, at) => remote.delete(subnets, { name: nameOf(at) }));
    await untilActive(kube, before);
    const nodes = lab.cluster(here).nodes.map(({ netns }) => netns);
    const isGone = async (): Promise<true | NotYet> => {
      const shown = await Promise.all(nodes.map((netns) => forwardedRoutes(netns)));
      return shown.every((number) => number === before) || notYet(shown.join(', '));
    };
    await eventually('none of them to be forwarded', isGone, bulkTimeoutMs, 100);
    return performance.now() - started;
  });
  say('all deleted');
  rows.push({
    ...inBulk,
    what: `${title}: all deleted, until none is in the slices and on the nodes here`,
    ours: deletedMs / 1000,
    target: 300,
  });
  return rows;
}

async function forwardedRoutes(netns: string): Promise<number> {
  const text = await run(['ip', '-n', netns, 'route', 'show', 'table', String(forwardingTable)]);
  return text.split('\n').filter((line) => line !== '').length;
}

async function restartRows(bed: IcBed, kube: KubeClient, vty: Vty, title: string): Promise<IcRow[]> {
  await pause(quietMs);
  const writes = await restartWrites(bed, kube, vty);
  return [...writes].map(([what, ours]) => ({
    what: `${title}: every program here restarts, changed ${what}`,
    unit: 'rows',
    ours,
    target: 0,
    floor: 0,
    floorIs: 'none',
  }));
}

/** Packets of the router to a pod in the last Subnet, while one gateway of its cluster goes, and then the other. */
async function gatewayRows(
  bed: IcBed,
  vty: Vty,
  last: string,
  change: (what: string, ours: number) => IcRow,
): Promise<IcRow[]> {
  const { lab } = bed;
  const gateways = lab.cluster(there).nodes.map(({ name }) => name);
  const annotations = { 'ovn.kubernetes.io/logical_switch': nameOf(count - 1) };
  await addWorkload(lab, there, { namespace, pods: [{ name: 'last', node: gateways[0] ?? '', annotations }] });
  await waitForPods(lab, there, namespace, 2, bulkTimeoutMs);
  const pod = await lab.addressOf(there, `${namespace}/last`);
  const { netns } = lab.router('tor');
  await lab.ping(netns, pod, { timeoutMs: bulkTimeoutMs });
  const prefix = new Prefix(bed, vty, last);
  const lost = performance.now();
  await loseGateway(lab, `${there}/${gateways[1] ?? ''}`, 'killed');
  await lab.ping(netns, pod, { timeoutMs });
  const again = performance.now();
  await prefix.untilForwarded(true);
  await prefix.untilAnnounced(true);
  const gone = performance.now();
  await loseGateway(lab, `${there}/${gateways[0] ?? ''}`, 'killed');
  const [unforwarded, withdrawn] = await Promise.all([prefix.untilForwarded(false), prefix.untilAnnounced(false)]);
  await prefix.untilRefused();
  await bed.removeSubnet(here, rival);
  await lab.heal();
  await removeWorkload(lab, there, namespace);
  return [
    change('one gateway there goes, until a pod in the last Subnet answers the router', again - lost),
    change('the last gateway there goes, until no node forwards the last Subnet', unforwarded - gone),
    change('the last gateway there goes, until the router has it no more', withdrawn - gone),
  ];
}

export const measurements: readonly Measurement[] = [{ name: 'thousands of Subnets', measure }];
