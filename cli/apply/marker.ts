/**
 * Measures how long a prefix takes from one cluster to another: makes a Subnet of the user's choice here, waits until the
 * other cluster uses its route, takes it away, and waits until the route is gone. Only where the user named the prefix.
 */
import { networksInForce } from '../../lib/api/in-force.ts';
import { readRemotePrefixes } from '../../lib/api/remote-prefixes.ts';
import { orAbsent } from '../../lib/kube/errors.ts';
import { apiVersionOf, remoteClusters, subnets } from '../../lib/kube/resources.ts';
import type { KubeClient } from '../../lib/kube/types.ts';
import { compareCidrs, parseCidr } from '../../lib/net/cidr.ts';
import { waitFor, type Patience } from './wait.ts';

export const markerName = 'isthmus-bench';

export interface MarkerOptions {
  readonly near: KubeClient;
  readonly far: KubeClient;
  /** This cluster’s name among the members. */
  readonly cluster: string;
  readonly cidr: string;
  readonly vpc: string;
  readonly patience: Patience;
}

/** Milliseconds; undefined where it did not happen in time. */
export interface MarkerTimes {
  /** From the request until the subnet was in force here: what the controller needs. */
  readonly inForceMs: number | undefined;
  /** From then until the other cluster used the route. */
  readonly learnedMs: number | undefined;
  /** From the request to delete it until the other cluster had no such route. */
  readonly withdrawnMs: number | undefined;
}

/** @throws KubeApiError where the subnet may not be made, or is there already */
export async function measureMarker({ near, far, cluster, cidr, vpc, patience }: MarkerOptions): Promise<MarkerTimes> {
  const name = { name: markerName };
  await near.create(subnets, {
    apiVersion: apiVersionOf(subnets),
    kind: subnets.kind,
    metadata: name,
    spec: { cidrBlock: cidr, vpc, protocol: cidr.includes(':') ? 'IPv6' : 'IPv4' },
  });
  const isUsed = async (): Promise<boolean> => {
    const raw = await orAbsent(far.get(remoteClusters, { name: cluster }));
    const { listed } = raw === undefined ? { listed: [] } : readRemotePrefixes(raw);
    return listed.some((prefix) => prefix.isActive && compareCidrs(prefix.cidr, parseCidr(cidr)) === 0);
  };
  try {
    const inForce = await waitFor(async () => {
      const { metadata } = await near.get(subnets, name);
      return networksInForce(metadata.annotations).length > 0 ? true : undefined;
    }, patience);
    const learned = await waitFor(async () => ((await isUsed()) ? true : undefined), patience);
    await near.delete(subnets, name);
    const withdrawn = await waitFor(async () => ((await isUsed()) ? undefined : true), patience);
    const msOf = ({ value, tookMs }: { value: true | undefined; tookMs: number }) =>
      value === undefined ? undefined : tookMs;
    return {
      inForceMs: msOf(inForce),
      learnedMs: msOf(learned),
      withdrawnMs: learned.value === undefined ? undefined : msOf(withdrawn),
    };
  } finally {
    await near.delete(subnets, name);
  }
}
