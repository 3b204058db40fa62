/** Effects on the client when a node is drained and powered off while it forwards requests. */
import { setTimeout as pause } from 'node:timers/promises';
import {
  apiVersionOf,
  bgpAdvertisements,
  bgpInstances,
  bgpNodeStates,
  endpointSlices,
  nodes,
  services,
} from '../../../lib/kube/resources.ts';
import { annotation } from '../../../lib/api/names.ts';
import type { BgpBed } from './bed.ts';
import type { BgpRow, Measurement } from './measurement.ts';
import { node } from './pods.ts';
import { type Answers, failedOf, serverAddress, serverPrefix, TwoWays } from './two-ways.ts';
import { eventually, type NotYet, notYet } from '../../../lib/testing-eventually.ts';

const rate = 1000;
/** Fewer a second, and it is another measurement. */
const leastRate = 900;
const settleSeconds = 2;
/** How long the node stays away. */
const awayMs = 3000;
/** Minimum share of the packets on each way while both are in use. */
const leastShare = 0.2;
const service = { namespace: 'default', name: 'drain' } as const;

/** With a ready endpoint on another node, so that every node may announce it. */
async function createService(bed: BgpBed): Promise<void> {
  await bed.kube.create(services, {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: service,
    spec: { type: 'LoadBalancer', externalTrafficPolicy: 'Cluster', ports: [{ port: 80 }] },
  });
  const status = { loadBalancer: { ingress: [{ ip: serverAddress }] } };
  await bed.kube.patch(services, service, 'merge', { status }, { subresource: 'status' });
  await bed.kube.create(endpointSlices, {
    apiVersion: apiVersionOf(endpointSlices),
    kind: 'EndpointSlice',
    metadata: { ...service, labels: { 'kubernetes.io/service-name': service.name } },
    addressType: 'IPv4',
    endpoints: [{ addresses: ['10.128.9.9'], nodeName: 'n2', conditions: { ready: true } }],
    ports: [{ port: 80 }],
  });
  await bed.create(bgpAdvertisements, service.name, { source: 'Service' });
}

async function removeService(bed: BgpBed): Promise<void> {
  await bed.kube.delete(bgpAdvertisements, { name: service.name });
  await bed.kube.delete(endpointSlices, service);
  await bed.kube.delete(services, service);
}

async function setDrain(bed: BgpBed, text: 'true' | null): Promise<void> {
  const metadata = { annotations: { [annotation.bgpDrain]: text } };
  await bed.kube.patch(nodes, { name: node }, 'merge', { metadata });
}

async function setSettle(bed: BgpBed, seconds: number | null): Promise<void> {
  await bed.kube.patch(bgpInstances, { name: 'rack' }, 'merge', { spec: { drain: { settleSeconds: seconds } } });
}

async function untilPhase(bed: BgpBed, wanted: string): Promise<void> {
  const isThere = async (): Promise<true | NotYet> => {
    const { status } = (await bed.kube.get(bgpNodeStates, { name: node })) as { status?: { readonly drain?: string } };
    return status?.drain === wanted || notYet(String(status?.drain));
  };
  await eventually(`the node to be ${wanted}`, isThere, 30_000, 20);
}

/** @throws Error where one of the two has less than its share of the next second's packets */
async function assertBothCarry(ways: TwoWays): Promise<void> {
  const before = ways.packets();
  await pause(1000);
  const after = ways.packets();
  const [first, second] = [after.node - before.node, after.second - before.second];
  if (Math.min(first, second) < leastShare * (first + second))
    throw new Error(`one way carries too little: ${first} packets by the node, ${second} by the other`);
}

/** The router still has the node's path, and lets it be because it was asked. @throws Error otherwise */
async function assertAsked(bed: BgpBed): Promise<void> {
  const path = await bed.tor.peer.path(serverPrefix, bed.tor.nodeAddress);
  if (path?.communities.includes('graceful-shutdown') !== true)
    throw new Error(`the router was not asked to prefer others: it has ${JSON.stringify(path)} of the node`);
}

/** The node is drained, stopped with its gobgpd, and started again. */
async function drainAndReturn(bed: BgpBed, ways: TwoWays): Promise<void> {
  await setDrain(bed, 'true');
  await ways.untilInRouter('second');
  await assertAsked(bed);
  await untilPhase(bed, 'Drained');
  ways.cutNode();
  await bed.gobgpd.kill();
  await pause(awayMs);
  ways.mendNode();
  await bed.gobgpd.restart();
  await bed.tor.untilEstablished();
  await setDrain(bed, null);
  await ways.untilInRouter('node', 'second');
  await assertBothCarry(ways);
}

/** @throws Error where there were too few to say anything */
function assertRate({ answered, seconds, ...rest }: Answers): number {
  const reached = (answered + failedOf({ answered, seconds, ...rest })) / seconds;
  if (reached < leastRate) throw new Error(`only ${reached.toFixed(0)} requests a second, not ${rate}`);
  return reached;
}

async function measureWith(bed: BgpBed, ways: TwoWays): Promise<BgpRow[]> {
  await ways.untilInRouter('node', 'second');
  ways.startRequests(rate);
  await pause(1000);
  await assertBothCarry(ways);
  await ways.answers();
  await drainAndReturn(bed, ways);
  const drained = await ways.answers();
  await pause(1000 * drained.seconds);
  const calm = await ways.answers();
  const reached = [drained, calm].map(assertRate);
  // Control: the measurement must detect a node that stops without notice.
  ways.cutNode();
  await pause(awayMs);
  ways.mendNode();
  await pause(awayMs);
  const lost = failedOf(await ways.answers());
  if (lost === 0) throw new Error('a node that passes nothing on was not noticed');
  const title = `A node is drained, away for ${awayMs / 1000} s and back, ${reached[0]?.toFixed(0) ?? ''} requests a second for ${drained.seconds.toFixed(0)} s`;
  return [
    {
      what: `${title}: failed (without the drain ${lost.toLocaleString('en')})${Object.keys(drained.failures)
        .map((problem) => `; ${problem}`)
        .join('')}`,
      unit: 'requests',
      ours: failedOf(drained),
      target: 0,
      floor: failedOf(calm),
      floorIs: 'as long, and nothing happens',
    },
    {
      what: `${title}: the slowest`,
      unit: 'ms',
      ours: drained.slowestMs,
      target: undefined,
      floor: calm.slowestMs,
      floorIs: 'as long, and nothing happens',
    },
  ];
}

async function drain(bed: BgpBed): Promise<BgpRow[]> {
  await setSettle(bed, settleSeconds);
  await createService(bed);
  const ways = await TwoWays.open(bed);
  try {
    return await measureWith(bed, ways);
  } finally {
    await setDrain(bed, null);
    await ways.close();
    await removeService(bed);
    await setSettle(bed, null);
  }
}

export const measurements: readonly Measurement[] = [{ name: 'drain', measure: drain }];
