/**
 * Measures how long a prefix takes to reach another cluster: creates a Subnet with the user's prefix in this cluster,
 * waits until the other cluster uses its route, deletes the Subnet, and waits until the route is gone. Runs only if the
 * user gave the prefix.
 */
import { networksInForce } from '../../lib/api/in-force.ts';
import { remoteRoutes } from '../../lib/slices/remote-routes.ts';
import { apiVersionOf, remoteRouteSlices, subnets } from '../../lib/kube/resources.ts';
import type { KubeClient } from '../../lib/kube/types.ts';
import { formatCidr, parseCidr } from '../../lib/net/cidr.ts';
import { selectorOf } from '../../lib/slices/slice.ts';
import { waitFor, type Patience } from './wait.ts';
import { familyOf } from '../../lib/net/ip.ts';

export const markerName = 'isthmus-bench';

export interface MarkerOptions {
  readonly near: KubeClient;
  readonly far: KubeClient;
  /** This cluster's name among the members. */
  readonly cluster: string;
  readonly cidr: string;
  readonly vpc: string;
  readonly patience: Patience;
}

/** Times in milliseconds; undefined if the step did not complete in time. */
export interface MarkerTimes {
  /** From the request until the subnet was in force in this cluster: the controller's time. */
  readonly inForceMs: number | undefined;
  /** From then until the other cluster used the route. */
  readonly learnedMs: number | undefined;
  /** From the deletion request until the other cluster no longer had the route. */
  readonly withdrawnMs: number | undefined;
}

/** @throws KubeApiError if the subnet cannot be created or already exists */
export async function measureMarker({ near, far, cluster, cidr, vpc, patience }: MarkerOptions): Promise<MarkerTimes> {
  const name = { name: markerName };
  await near.create(subnets, {
    apiVersion: apiVersionOf(subnets),
    kind: subnets.kind,
    metadata: name,
    spec: { cidrBlock: cidr, vpc, protocol: familyOf(cidr) === 6 ? 'IPv6' : 'IPv4' },
  });
  const network = parseCidr(cidr);
  const wanted = network === undefined ? cidr : formatCidr(network);
  const isUsed = async (): Promise<boolean> => {
    const labelSelector = selectorOf(remoteRoutes, cluster);
    const slices = await far.list(remoteRouteSlices, { labelSelector });
    return slices.some((raw) =>
      remoteRoutes.parse(raw).some(({ prefix, state }) => state === 'Active' && prefix === wanted),
    );
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
