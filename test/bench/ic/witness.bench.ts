/**
 * A gateway dies where no third node of its cluster hears its successor: in clusters of two nodes, and in a custom VPC with pods
 * on one gateway only. Of several pairs of pods one is taken whose packets pass the gateway that dies.
 */
import { waitFor } from '../../lab/run.ts';
import { addWorkload, applyObjects, subnetManifest, waitForPods } from '../../system/workload.ts';
import type { FlowReport } from '../flows/report.ts';
import { startFlows, type FlowEnds } from '../flows/start.ts';
import { quantile } from '../row.ts';
import type { IcBed } from './bed.ts';
import { gatewayFaults, loseGateway, whileHubIsFrozen, type GatewayFault } from './faults.ts';
import type { IcRow, Measurement } from './measurement.ts';

const direction = ['east', 'west'] as const;
const targetMs = 400;
/** Where all pods are, and the gateway that dies. */
const [survivor, victim] = ['n2', 'n1'];
/** Each pair has its way by one of two paths. */
const podCount = 6;
const afterMs = 3000;
const protectedTimeoutMs = 90_000;

/** A VPC, the transit switch that joins it, and where its pods are. */
interface Vpc {
  readonly name: string;
  readonly network: string;
  readonly namespace: string;
  readonly objects: (octet: number) => readonly object[];
}

const plain: Vpc = { name: 'ovn-cluster', network: 'ts', namespace: 'witness', objects: () => [] };
const custom: Vpc = {
  name: 'lone',
  network: 'lone',
  namespace: 'lone',
  objects: (octet) => [
    { apiVersion: 'kubeovn.io/v1', kind: 'Vpc', metadata: { name: 'lone' }, spec: {} },
    subnetManifest('lone-pods', { vpc: 'lone', cidrBlock: `10.${octet}.0.0/24`, namespaces: ['lone'] }),
    {
      apiVersion: 'isthmus.network/v1alpha1',
      kind: 'TransitSwitch',
      metadata: { name: 'lone' },
      spec: { vpc: 'lone' },
    },
  ],
};

/** Makes what is not there yet, and waits until pods of both clusters reach each other. */
async function prepare({ lab }: IcBed, { namespace, objects }: Vpc): Promise<void> {
  const pods = Array.from({ length: podCount }, (_, index) => ({ name: `p${index}`, node: survivor }));
  for (const [index, cluster] of direction.entries()) {
    if (objects(70 + index).length > 0) await applyObjects(lab, cluster, objects(70 + index));
    await addWorkload(lab, cluster, { namespace, pods });
  }
  for (const cluster of direction) await waitForPods(lab, cluster, namespace, podCount);
}

/** A pair of pods whose packets out of `cluster` leave by the victim. @throws Error if there is none */
async function pairThrough(bed: IcBed, { namespace }: Vpc, cluster: string): Promise<FlowEnds> {
  const { lab } = bed;
  for (let index = 0; index < podCount; index += 1) {
    const pod = `${namespace}/p${index}`;
    const [near, far] = await Promise.all(direction.map((place) => lab.addressOf(place, pod)));
    if (near === undefined || far === undefined) continue;
    const ends = { from: lab.ns(direction[0], pod), to: lab.ns(direction[1], pod), address: far };
    await lab.ping(ends.from, far);
    const flows = await startFlows(ends, { udp: 10 });
    const pair = cluster === direction[0] ? { src: near, dst: far } : { src: far, dst: near };
    const next = await bed.nextNode(cluster, survivor, pair).finally(() => flows.stop());
    if (next === victim) return ends;
  }
  throw new Error(`no packets of ${namespace} leave ${cluster} by ${victim}`);
}

/** Every path is where it is to be, and would be taken over. */
async function untilProtected({ lab }: IcBed, network: string): Promise<void> {
  const path = 'jsonpath={.status.paths[*].state}';
  for (const cluster of direction)
    await waitFor(
      `${network} of ${cluster} to be protected`,
      async () => {
        const text = await lab.kubectl(cluster, ['get', 'transitswitch', network, '-o', path]);
        return text.split(' ').every((state) => state === 'Settled') || text;
      },
      protectedTimeoutMs,
      500,
    );
}

interface Case {
  /** As a row has it: `Two nodes`. */
  readonly where: string;
  readonly vpc: Vpc;
  readonly cluster: string;
  readonly fault: GatewayFault;
  readonly isHubFrozen: boolean;
}

async function measure(bed: IcBed, { where, vpc, cluster, fault, isHubFrozen }: Case): Promise<IcRow[]> {
  await bed.lab.heal();
  await prepare(bed, vpc);
  await bed.settle();
  await untilProtected(bed, vpc.network);
  const ends = await pairThrough(bed, vpc, cluster);
  const work = (): Promise<FlowReport> =>
    bed.flowsBetween(ends, () => loseGateway(bed.lab, `${cluster}/${victim}`, fault), { afterMs });
  const { udp } = isHubFrozen ? await whileHubIsFrozen(bed.lab, work) : await work();
  const side = cluster === direction[0] ? 'sender' : 'receiver';
  const hub = isHubFrozen ? ', hub and IC databases frozen' : '';
  const what = `${where}, gateway of the ${side} ${fault}${hub}: longest gap of ${String(udp.flows)} flows`;
  const floor = await bed.detectionMs();
  const row = {
    unit: 'ms' as const,
    target: targetMs,
    floor,
    floorIs: 'BFD detection as configured: interval × multiplier',
  };
  return [
    { ...row, what: `${what}, 99th percentile`, ours: quantile(udp.gaps, 0.99) },
    { ...row, what: `${what}, of all`, ours: udp.gapMs.max },
  ];
}

function casesOf(where: string, vpc: Vpc): readonly Measurement[] {
  return [false, true].flatMap((isHubFrozen) =>
    direction.flatMap((cluster) =>
      gatewayFaults.map((fault) => ({
        name: `${where}, gateway of ${cluster} ${fault}${isHubFrozen ? ', hub frozen' : ''}`,
        measure: (bed: IcBed) => measure(bed, { where, vpc, cluster, fault, isHubFrozen }),
      })),
    ),
  );
}

/** For clusters of three nodes. */
export const loneVpc: readonly Measurement[] = casesOf('Custom VPC with pods on one node', custom);

/** For clusters of two nodes, all of them gateways. */
export function twoNodes(ovn: string): readonly Measurement[] {
  return [
    ...casesOf(`Two nodes, OVN ${ovn}`, plain),
    ...casesOf(`Custom VPC with pods on one of two nodes, OVN ${ovn}`, custom),
  ];
}
