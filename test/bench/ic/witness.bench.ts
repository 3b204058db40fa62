/**
 * A gateway dies where no third node of its cluster hears its successor: in clusters of two nodes, and in a custom VPC with pods
 * on one gateway only. Of several pairs of pods one is taken whose packets pass the gateway that dies, at that moment.
 */
import { addWorkload, applyObjects, subnetManifest, waitForPods } from '../../system/workload.ts';
import type { FlowReport } from '../flows/report.ts';
import { quantile } from '../row.ts';
import type { IcBed } from './bed.ts';
import { gatewayFaults, loseGateway, whileHubIsFrozen, type GatewayFault } from './faults.ts';
import type { IcRow, Measurement } from './measurement.ts';
import { eventually, notYet } from '../../../lib/testing-eventually.ts';

const direction = ['east', 'west'] as const;
const targetMs = 400;
/** Where all pods are, and the gateway that dies. */
const [survivor, victim] = ['n2', 'n1'];
/** Each pair has its way by one of two paths. */
const podCount = 6;
const attempts = 3 * podCount;
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

/** Creates missing objects, and waits until pods of both clusters reach each other. */
async function prepare({ lab }: IcBed, { namespace, objects }: Vpc): Promise<void> {
  const pods = Array.from({ length: podCount }, (_, index) => ({ name: `p${index}`, node: survivor }));
  for (const [index, cluster] of direction.entries()) {
    if (objects(70 + index).length > 0) await applyObjects(lab, cluster, objects(70 + index));
    await addWorkload(lab, cluster, { namespace, pods });
  }
  for (const cluster of direction) await waitForPods(lab, cluster, namespace, podCount);
}

/** The packets pass another gateway than the one that was to die, which lives on. */
class OtherWay extends Error {}

/** The measured flows themselves choose: which path a pair of pods has may be another one with the next flows. @throws OtherWay */
async function loseWith(bed: IcBed, index: number, { vpc, cluster, fault }: Case): Promise<FlowReport> {
  const { lab } = bed;
  const [first, second] = direction;
  // Not only pods of the same number: the hash of their two addresses is the same for all of them.
  const pods = [index, index + Math.trunc(index / podCount)].map((at) => `${vpc.namespace}/p${at % podCount}`);
  const [from = '', to = ''] = pods;
  const [near, far] = await Promise.all([lab.addressOf(first, from), lab.addressOf(second, to)]);
  const ends = { from: lab.ns(first, from), to: lab.ns(second, to), address: far };
  const way = cluster === first ? { src: near, dst: far } : { src: far, dst: near };
  const lose = async (): Promise<void> => {
    if ((await bed.nextNode(cluster, survivor, way)) !== victim) throw new OtherWay();
    await loseGateway(lab, `${cluster}/${victim}`, fault);
  };
  return bed.flowsBetween(ends, lose, { afterMs });
}

/** @throws Error if no packets out of the cluster pass the gateway that is to die */
async function lossOf(bed: IcBed, one: Case): Promise<FlowReport> {
  for (let attempt = 0; attempt < attempts; attempt += 1) {
    const work = (): Promise<FlowReport> => loseWith(bed, attempt, one);
    try {
      return await (one.isHubFrozen ? whileHubIsFrozen(bed.lab, work) : work());
    } catch (error) {
      if (!(error instanceof OtherWay)) throw error;
    }
  }
  throw new Error(`no packets of ${one.vpc.namespace} leave ${one.cluster} by ${victim}`);
}

/** Every path is where it is to be, and would be taken over. */
async function untilProtected({ lab }: IcBed, network: string): Promise<void> {
  const path = 'jsonpath={.status.paths[*].state}';
  for (const cluster of direction)
    await eventually(
      `${network} of ${cluster} to be protected`,
      async () => {
        const text = await lab.kubectl(cluster, ['get', 'transitswitch', network, '-o', path]);
        return text.split(' ').every((state) => state === 'Settled') || notYet(text);
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

async function measure(bed: IcBed, one: Case): Promise<IcRow[]> {
  const { where, vpc, cluster, fault, isHubFrozen } = one;
  await bed.lab.heal();
  await prepare(bed, vpc);
  await bed.settle();
  await untilProtected(bed, vpc.network);
  const { udp } = await lossOf(bed, one);
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
