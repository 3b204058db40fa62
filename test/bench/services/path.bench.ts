/** Connections of pods to a Service among a thousand: new endpoints, endpoints that go, affinity, and what a connection costs. */
import { setTimeout as pause } from 'node:timers/promises';
import { openOvsdb, type OvsdbClient } from 'ovsdb-client';
import { pods } from '../../../lib/kube/resources.ts';
import { median, quantile } from '../row.ts';
import type { Measurement, ServiceRow } from './measurement.ts';
import { numbers } from './objects.ts';
import { PathBed, port } from './path-bed.ts';
import type { Loop, Requests } from './traffic.ts';
import { eventually, notYet } from '../../../lib/testing-eventually.ts';

const others = 1000;
const changeCount = 100;
/** It gathers changes for a second. */
const peerChangeCount = 20;
const perSecond = 1000;
const pollMs = 2;
const clients = 1000;
const parallel = 16;
const loops = 3;
/** In all loops together fewer than a client has ports: one that is used again meets the remains of its former connection. */
const [oneByOne, together] = [2000, 6000];

const nowMs = (): number => Number(process.hrtime.bigint()) / 1e6;

/** Milliseconds from a change of the endpoints until a connection reaches the new one, of each. */
async function changeTimes(path: PathBed, service: string, address: string, count: number): Promise<readonly number[]> {
  const poll = path.client('poll', address, 80, pollMs);
  await poll.next();
  const times: number[] = [];
  for (let at = 0; at < count; at += 1) {
    const pod = at % 2 === 0 ? 'c' : 'b';
    const seen = poll.until<{ name: string; atMs: number }>(({ name }) => name === pod);
    await path.endpoints(service, [pod]);
    const readyMs = nowMs();
    const { atMs } = await seen;
    times.push(Math.max(0, atMs - readyMs));
    await pause(50);
  }
  await poll.end();
  return times;
}

/** Milliseconds from a bare transaction until all nodes have it, as `--wait=hv` does, under the same connections as `changeTimes`. */
async function bareChangeTimes(
  path: PathBed,
  nb: OvsdbClient,
  balancer: string,
  address: string,
): Promise<readonly number[]> {
  const global = (): Readonly<Record<string, unknown>> => [...nb.cache.table('NB_Global').rows.values()][0] ?? {};
  const times: number[] = [];
  const poll = path.client('poll', address, 80, pollMs);
  await poll.next();
  let wanted = Number(global()['nb_cfg']);
  for (let at = 0; at < changeCount; at += 1) {
    const [backend = ''] = path.bed.addressesOf(at % 2 === 0 ? 'c' : 'b');
    wanted += 1;
    const begun = performance.now();
    await nb.transact([
      {
        op: 'update',
        table: 'Load_Balancer',
        where: [['name', '==', balancer]],
        row: { vips: { [`${address}:80`]: `${backend}:${String(port)}` } },
      },
      { op: 'update', table: 'NB_Global', where: [], row: { nb_cfg: wanted } },
    ]);
    const { promise, resolve } = Promise.withResolvers<undefined>();
    const look = (): void => void (Number(global()['hv_cfg']) >= wanted && resolve(undefined));
    const unsubscribe = nb.subscribe(look);
    look();
    await promise;
    unsubscribe();
    times.push(performance.now() - begun);
    await pause(50);
  }
  await poll.end();
  return times;
}

interface Loss {
  /** Failed requests that began after the EndpointSlice had changed. */
  readonly after: number;
  readonly all: number;
  /** From the change of the EndpointSlice to the begin of the last failed request; 0 if none failed after it. */
  readonly lastMs: number;
}

/** The pod c of two ends under requests: killed before its EndpointSlice changes, or terminating before it stops. */
async function loseEndpoint(path: PathBed, service: string, address: string, how: 'killed' | 'ended'): Promise<Loss> {
  await path.endpoints(service, ['b', 'c']);
  await eventually('both endpoints', async () => {
    const names = await path.client('ask', address, 80, 20).end<readonly string[]>();
    return (names.includes('b') && names.includes('c') && names.length === 2) || notYet(names.join());
  });
  const requests = path.client('request', address, 80, perSecond);
  await pause(2000);
  if (how === 'killed') {
    await path.stopServing('c');
    await pause(500);
    await path.endpoints(service, ['b']);
  } else await path.endpoints(service, ['b'], ['c']);
  const changedMs = nowMs();
  await pause(1000);
  if (how === 'ended') {
    await path.endpoints(service, ['b']);
    await path.stopServing('c');
  }
  await pause(1000);
  const { failedMs } = await requests.end<Requests>();
  await path.serve('c');
  const after = failedMs.filter((atMs) => atMs > changedMs);
  return { after: after.length, all: failedMs.length, lastMs: Math.max(0, ...after.map((atMs) => atMs - changedMs)) };
}

type Target = readonly [address: string, port: number];

/** Connections as fast as they go, so many at a time, to each of the targets in turn; gives the median of each. */
async function loopTo(
  path: PathBed,
  targets: readonly Target[],
  { count, atOnce }: { readonly count: number; readonly atOnce: number },
): Promise<readonly Loop[]> {
  const results = targets.map((): Loop[] => []);
  for (let round = 0; round < loops; round += 1)
    for (const [at, [address, to]] of targets.entries())
      results[at]?.push(await path.client('loop', address, to, count, atOnce).end<Loop>());
  return results.map((all) => ({
    eachMs: median(all.map(({ eachMs }) => eachMs)),
    medianMs: median(all.map(({ medianMs }) => medianMs)),
  }));
}

interface Cost {
  /** One connection after the other. */
  readonly oneMs: number;
  /** Many at a time: time of the machine for each. */
  readonly eachMs: number;
}

/** To the Service, and to its only pod, on the node of the client. */
async function connectionCost(path: PathBed, service: string, address: string): Promise<{ service: Cost; pod: Cost }> {
  await path.endpoints(service, ['b']);
  await path.untilOnly(address, 'b');
  const targets: readonly Target[] = [
    [address, 80],
    // The Service's connections have the other port: their tracked addresses and ports would be the same.
    [path.bed.addressesOf('b')[0] ?? '', port + 1],
  ];
  const one = await loopTo(path, targets, { count: oneByOne, atOnce: 1 });
  const many = await loopTo(path, targets, { count: together, atOnce: parallel });
  const of = (at: number): Cost => ({
    oneMs: one[at]?.medianMs ?? Number.NaN,
    eachMs: many[at]?.eachMs ?? Number.NaN,
  });
  return { service: of(0), pod: of(1) };
}

/** First connections of clients that nothing knows yet; gives the lost ones. */
async function firstConnections(path: PathBed, address: string, first: string, count: number): Promise<number> {
  return (await path.client('clients', address, 80, first, count, parallel).end<{ lost: number }>()).lost;
}

interface Path {
  readonly flipMs: readonly number[];
  readonly killed: Loss;
  readonly ended: Loss;
  readonly cost: { readonly service: Cost; readonly pod: Cost };
}

async function measurePath(path: PathBed, service: string, address: string, count: number): Promise<Path> {
  await path.endpoints(service, ['b']);
  await path.untilOnly(address, 'b');
  console.log('           new endpoints');
  const flipMs = await changeTimes(path, service, address, count);
  console.log('           endpoints that go');
  const killed = await loseEndpoint(path, service, address, 'killed');
  const ended = await loseEndpoint(path, service, address, 'ended');
  console.log(`           ${JSON.stringify({ p50: median(flipMs), p99: quantile(flipMs, 0.99), killed, ended })}`);
  console.log('           connections');
  return { flipMs, killed, ended, cost: await connectionCost(path, service, address) };
}

interface Affinity {
  readonly lost: number;
  readonly lostWithout: number;
}

async function measureAffinity(path: PathBed): Promise<Affinity> {
  await addClients(path);
  const lost: number[] = [];
  for (const [at, spec] of [{ sessionAffinity: 'ClientIP' }, {}].entries()) {
    const name = `first-${String(at)}`;
    const address = await path.service(name, spec);
    await path.endpoints(name, ['b', 'c']);
    await eventually('endpoints', async () => {
      const names = await path.client('ask', address, 80, 10).end<readonly string[]>();
      return !names.includes('') || notYet('none answers');
    });
    lost.push(await firstConnections(path, address, firstClient, clients));
  }
  const [with_ = 0, without = 0] = lost;
  return { lost: with_, lostWithout: without };
}

const firstClient = '10.16.128.1';

/** Addresses of as many clients in the pod a. The servers know its MAC address: two of them would fill the machine's table of neighbours. */
async function addClients({ bed }: PathBed): Promise<void> {
  const { 'ovn.kubernetes.io/mac_address': mac = '' } = await bed.controller.annotations(pods, 'a', 'default');
  const addresses = numbers(clients).map((at) => `10.16.${String(128 + ((at + 1) >> 8))}.${String((at + 1) & 255)}`);
  bed.batch(
    'a',
    addresses.map((address) => `addr add ${address}/16 dev eth0`),
  );
  for (const pod of ['b', 'c'])
    bed.batch(
      pod,
      addresses.map((address) => `neigh replace ${address} lladdr ${mac} dev eth0 nud permanent`),
    );
}

export const measurements: readonly Measurement[] = [{ name: 'path', measure }];

async function measure(): Promise<readonly ServiceRow[]> {
  const path = await PathBed.open(others);
  try {
    const address = await path.service('probe');
    const ours = await measurePath(path, 'probe', address, changeCount);
    console.log('           affinity');
    const affinity = await measureAffinity(path);
    await path.endpoints('probe', ['b']);
    await path.untilOnly(address, 'b');
    await path.bed.controller.stop();
    console.log('           bare transactions');
    const nb = await openOvsdb({
      remotes: [path.bed.controller.server.remote],
      database: 'OVN_Northbound',
      monitor: { NB_Global: ['nb_cfg', 'hv_cfg'] },
    });
    const bareMs = await bareChangeTimes(path, nb, 'default/probe/tcp/ipv4', address);
    await nb.close();
    console.log('           kube-proxy');
    await path.useKubeProxy();
    const peer = await measurePath(path, 'probe', address, peerChangeCount);
    return rowsOf({ ours, peer, bareMs, affinity });
  } finally {
    await path.close();
  }
}

interface Figures {
  readonly ours: Path;
  readonly peer: Path;
  readonly bareMs: readonly number[];
  readonly affinity: Affinity;
}

function rowsOf({ ours, peer, bareMs, affinity }: Figures): readonly ServiceRow[] {
  const what = `Endpoint of one of ${others.toLocaleString('en')} Services`;
  const bare = 'a bare transaction with `--wait=hv`';
  const rate = `${perSecond.toLocaleString('en')} connections a second`;
  const perSecondOf = ({ eachMs }: Cost): string => (1000 / eachMs).toFixed(0);
  const [p50, p99] = [median, (values: readonly number[]): number => quantile(values, 0.99)];
  const pod = 'the same to the address of the pod';
  return [
    {
      what: `${what} is ready → first connection there, median of ${String(changeCount)}`,
      unit: 'ms',
      ours: p50(ours.flipMs),
      floor: p50(bareMs),
      floorIs: bare,
      peer: p50(peer.flipMs),
      target: { timesFloor: 1.5 },
    },
    {
      what: `${what} is ready → first connection there, 99th percentile of ${String(changeCount)}`,
      unit: 'ms',
      ours: p99(ours.flipMs),
      floor: p99(bareMs),
      floorIs: bare,
      peer: p99(peer.flipMs),
      target: 250,
    },
    {
      what: `One of two endpoints killed under ${rate}: EndpointSlice changed → last connection that failed (${String(ours.killed.after)} failed after the change)`,
      unit: 'ms',
      ours: ours.killed.lastMs,
      floor: p50(bareMs),
      floorIs: bare,
      peer: peer.killed.lastMs,
      target: 250,
    },
    {
      what: `One of two endpoints terminates and stops a second later, under ${rate}: failed`,
      unit: 'connections',
      ours: ours.ended.all,
      floor: 0,
      floorIs: 'none',
      peer: peer.ended.all,
      target: 0,
    },
    {
      what: `First connections of ${clients.toLocaleString('en')} clients with affinity: lost`,
      unit: 'connections',
      ours: affinity.lost,
      floor: affinity.lostWithout,
      floorIs: 'the same without affinity',
      target: 0,
    },
    {
      what: `Pod → ClusterIP → pod of the same node: a connection, request and answer, one after the other, median`,
      unit: 'ms',
      ours: ours.cost.service.oneMs,
      floor: ours.cost.pod.oneMs,
      floorIs: pod,
      peer: peer.cost.service.oneMs,
      target: { timesFloor: 1.15 },
    },
    {
      what: `Pod → ClusterIP → pod of the same node, ${String(parallel)} at a time: time for each (${perSecondOf(ours.cost.service)} a second, to the pod ${perSecondOf(ours.cost.pod)}, by kube-proxy ${perSecondOf(peer.cost.service)})`,
      unit: 'ms',
      ours: ours.cost.service.eachMs,
      floor: ours.cost.pod.eachMs,
      floorIs: pod,
      peer: peer.cost.service.eachMs,
      target: { timesPeer: 1 },
    },
  ];
}
