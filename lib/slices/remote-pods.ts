/**
 * The addresses of pods of other clusters, as the controller reads them and the agent writes them. In: RemoteClusters with their RemotePodSlices. Out: for
 * each cluster its sets, with the addresses in each VPC. Pure.
 */
import { z } from 'zod';
import { mostPodsInSlice, remotePod, type RemotePod } from '../api/kinds/remote-pod-slice.ts';
import { label } from '../api/names.ts';
import { readAs } from '../api/read-as.ts';
import { remoteClusters, remotePodSlices } from '../kube/resources.ts';
import { parseIp } from '../net/ip.ts';
import { readEach } from './read-each.ts';
import type { SlicedKind } from './slice.ts';

/** A set of one cluster. */
export interface RemotePodSet {
  /** When the hub lost contact with the cluster; undefined while it has contact. */
  readonly since: string | undefined;
  /** Why the cluster does not send the set. */
  readonly reason: string | undefined;
  /** Addresses by VPC, sorted. */
  readonly addresses: ReadonlyMap<string, readonly string[]>;
}

/** By set; without those that have not arrived. */
export type RemotePodSets = ReadonlyMap<string, RemotePodSet>;

const list = z.looseObject({ pods: z.array(z.unknown()).optional().catch(undefined) });
const none: readonly RemotePod[] = [];

export const remotePods: SlicedKind<RemotePod> = {
  owners: remoteClusters,
  slices: remotePodSlices,
  label: label.remoteCluster,
  mostEntries: mostPodsInSlice,
  field: 'pods',
  parse: (raw) => readEach(readAs(list, raw).data?.pods, remotePod),
  sample: () => none,
  keyOf: ({ set, vpc, address }) => `${set} ${vpc} ${address}`,
};

export function remotePodSets(entries: readonly RemotePod[]): RemotePodSets {
  const states = entries.filter(({ address }) => address === '');
  const addresses = new Map<string, Map<string, Set<string>>>();
  for (const { set, vpc, address } of entries) {
    // Anything else would be an error of the database for the whole set.
    if (parseIp(address) === undefined) continue;
    const ofSet = addresses.get(set) ?? new Map<string, Set<string>>();
    addresses.set(set, ofSet.set(vpc, (ofSet.get(vpc) ?? new Set<string>()).add(address)));
  }
  return new Map(
    states.map(({ set, since, reason }) => {
      const byVpc = [...(addresses.get(set) ?? [])].map(([vpc, all]) => [vpc, [...all].sort()] as const);
      return [set, { since, reason, addresses: new Map(byVpc) }];
    }),
  );
}
