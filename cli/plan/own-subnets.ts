/**
 * The facts about the subnets of both sides that affect an address besides routes: the clusters to which a prefix of this cluster is offered, and the
 * networks that a private subnet admits. It only explains; the agent and the controller decide. Pure. Called by why.
 */
import { cidrCovers, cidrsOverlap, formatCidr, type Cidr } from '../../lib/net/cidr.ts';
import { falseCondition, type Snapshot, type Subnet } from '../model/snapshot.ts';
import { joinedVpcs, whyNotOffered } from './diagnose/prefixes.ts';
import type { Offering } from './edges.ts';
import { decisionOf } from './policy.ts';

/** For each other cluster, the offers of this cluster's subnets that overlap the target. */
export function offeredSubnets(near: Snapshot, target: Cidr): readonly Offering[] {
  const clusters = near.remotes.map(({ name }) => name);
  // A query about all addresses is not about a subnet.
  const isMeant = (cidr: Cidr): boolean => target.prefix > 0 && cidrsOverlap(cidr, target);
  const asked = near.subnets.filter(({ isJoin }) => !isJoin);
  return asked.flatMap((subnet) =>
    subnet.cidrs.filter(isMeant).flatMap((cidr) => offeringsOf(near, subnet, cidr, clusters)),
  );
}

function offeringsOf(near: Snapshot, subnet: Subnet, cidr: Cidr, clusters: readonly string[]): readonly Offering[] {
  const { vpc } = subnet;
  const prefix = formatCidr(cidr);
  const joined = near.transitSwitches.filter(({ spec, status }) => (status.vpc ?? spec.vpc) === vpc);
  const networks = joined.length === 0 ? [''] : joined.map(({ name }) => name);
  const obstacle = whyNotOffered(near, subnet)?.message ?? refusedByHub(near, prefix);
  return networks.flatMap((transitSwitch) =>
    clusters.map((cluster): Offering => {
      const place = { prefix, cluster, transitSwitch };
      if (obstacle !== undefined) return { ...place, answer: 'NotOffered', why: obstacle, policy: undefined };
      const subject = { cidr, cluster, transitSwitch, vpc, origin: 'connected' };
      const policy = decisionOf(near.policies, 'Export', subject);
      if (policy === undefined) return { ...place, answer: 'Offered', why: 'no Export policy denies it', policy };
      const isAllowed = policy.action === 'Allow';
      const why = `RoutePolicy ${policy.policy} ${isAllowed ? 'allows' : 'denies'} it`;
      return { ...place, answer: isAllowed ? 'Offered' : 'Denied', why, policy };
    }),
  );
}

function refusedByHub(near: Snapshot, prefix: string): string | undefined {
  const message = falseCondition(near, 'NoConflicts')?.message ?? '';
  return message.split(/[\s"',;:]+/).includes(prefix) ? message : undefined;
}

export interface Access {
  /** Whether a private Subnet of the other cluster admits nothing from this cluster. */
  readonly isRefused: boolean;
  /** Messages for the user. */
  readonly notes: readonly string[];
  /** Changes that would be necessary. */
  readonly next: readonly string[];
}

/** Which networks of this cluster the target's subnet in the other cluster admits, from the Subnets of both sides. */
export function accessTo(near: Snapshot, far: Snapshot | undefined, cluster: string, target: Cidr): Access {
  const leaving = near.subnets.flatMap((subnet) => closedFrom(near, subnet, target));
  if (far?.label !== cluster) {
    const note = `a route does not show whether Subnets there are private: --peer-kubeconfig reads them`;
    return { isRefused: false, notes: [note, ...leaving], next: [] };
  }
  const joined = joinedVpcs(far);
  const closed = far.subnets.find(
    ({ vpc, allowed, cidrs }) =>
      joined.has(vpc) && allowed !== undefined && cidrs.some((cidr) => cidrCovers(cidr, target)),
  );
  if (closed === undefined) return { isRefused: false, notes: leaving, next: [] };
  const sources = sourcesOf(near).filter(({ family }) => family === target.family);
  const admitted = sources.filter((source) => closed.allowed?.some((cidr) => cidrsOverlap(cidr, source)));
  const named = (closed.allowed ?? []).map(formatCidr).join(', ');
  const rule = `subnet ${closed.name} of ${far.label} is private and admits ${named === '' ? 'no other network' : named}`;
  if (admitted.length > 0) {
    const note = `${rule}: of ${near.label} that is ${admitted.map(formatCidr).join(', ')}, as far as it lies in these`;
    return { isRefused: false, notes: [note, ...leaving], next: [] };
  }
  const fix = `add the networks that must reach it to spec.allowSubnets of Subnet ${closed.name} in ${far.label} (subnets of ${near.label}: ${sources.map(formatCidr).join(', ')}), or set spec.private to false there`;
  return { isRefused: true, notes: [rule, ...leaving], next: [fix] };
}

/** The networks with access to a private subnet of this cluster, besides the subnet itself. */
export function accessHere({ subnets }: Snapshot, name: string): readonly string[] {
  const allowed = subnets.find((subnet) => subnet.name === name)?.allowed;
  if (allowed === undefined) return [];
  const others = allowed.length === 0 ? '' : `, and from ${allowed.map(formatCidr).join(', ')}`;
  return [`subnet ${name} is private: it can be reached from itself and the nodes${others}, and from nowhere else`];
}

function sourcesOf(near: Snapshot): readonly Cidr[] {
  const joined = joinedVpcs(near);
  return near.subnets.flatMap(({ vpc, cidrs, isJoin }) => (joined.has(vpc) && !isJoin ? cidrs : []));
}

function closedFrom(near: Snapshot, { name, vpc, allowed }: Subnet, target: Cidr): readonly string[] {
  if (allowed === undefined || !joinedVpcs(near).has(vpc)) return [];
  if (allowed.some((cidr) => cidrsOverlap(cidr, target))) return [];
  return [
    `subnet ${name} of ${near.label} is private, and its allowSubnets do not contain it: pods there cannot reach it`,
  ];
}
