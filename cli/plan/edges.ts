/**
 * The prefixes of a cluster's own routers, and the other clusters to which they are offered. It only explains; the agent and the controller decide.
 * Pure. Called by why.
 */
import { cidrCovers, formatCidr, type Cidr } from '../../lib/net/cidr.ts';
import { specialUse } from '../../lib/net/special-use.ts';
import { learnedOrigin } from '../../lib/route-policy/policy.ts';
import type { LearnedPrefix, Snapshot } from '../model/snapshot.ts';
import { joinedVpcs } from './diagnose/prefixes.ts';
import { decisionOf, type Decision } from './policy.ts';
import { listRoutes, type ListedRoute } from './routes.ts';

/** A prefix, with all nodes that learned it and all routers that announced it. */
export interface Edge {
  readonly prefix: string;
  readonly cidr: Cidr;
  readonly vpc: string;
  readonly nodes: readonly string[];
  readonly peers: readonly string[];
  readonly tags: readonly string[];
}

/** Edges of participating VPCs that contain the target, the longest prefix first. */
export function edgesAt(near: Snapshot, target: Cidr): readonly Edge[] {
  const joined = joinedVpcs(near);
  const held = near.learned.filter(({ vpc, cidr }) => joined.has(vpc) && cidrCovers(cidr, target));
  const groups = Map.groupBy(held, ({ vpc, cidr }) => `${vpc} ${formatCidr(cidr)}`).values();
  return [...groups].flatMap(edgeOf).toSorted((a, b) => b.cidr.prefix - a.cidr.prefix);
}

function edgeOf(entries: readonly LearnedPrefix[]): readonly Edge[] {
  const [first] = entries;
  if (first === undefined) return [];
  const all = (of: (entry: LearnedPrefix) => readonly string[]): string[] => [...new Set(entries.flatMap(of))].sort();
  return [
    {
      prefix: formatCidr(first.cidr),
      cidr: first.cidr,
      vpc: first.vpc,
      nodes: all(({ node }) => [node]),
      peers: all(({ peer }) => [peer]),
      tags: all(({ tags }) => tags),
    },
  ];
}

/** Whether packets use the edge: a prefix that another cluster owns is routed to that cluster. */
export function isTaken({ cidr }: Edge, routes: readonly ListedRoute[]): boolean {
  return !routes.some((route) => isOwned(route) && route.state !== 'Rejected' && covers(route, cidr));
}

function isOwned({ origin }: ListedRoute): boolean {
  return origin !== learnedOrigin;
}

function covers({ cidr: outer }: ListedRoute, cidr: Cidr): boolean {
  return outer !== undefined && cidrCovers(outer, cidr);
}

export interface Offering {
  readonly prefix: string;
  readonly cluster: string;
  readonly transitSwitch: string;
  readonly answer: 'Offered' | 'Denied' | 'NotOffered' | 'Loop' | 'PrefixInvalid';
  /** The reason, as a sentence without its subject. */
  readonly why: string;
  readonly policy: Decision | undefined;
}

/** Whether the edge is offered to each of these clusters, on each transit switch of its VPC. */
export function offeringsOf(near: Snapshot, edge: Edge, clusters: readonly string[]): readonly Offering[] {
  const networks = near.transitSwitches.filter(({ spec, status }) => (status.vpc ?? spec.vpc) === edge.vpc);
  const obstacle = obstacleTo(near, edge);
  return networks.flatMap(({ name: transitSwitch }) =>
    clusters.map((cluster): Offering => {
      const place = { prefix: edge.prefix, cluster, transitSwitch };
      if (obstacle !== undefined) return { ...place, ...obstacle, policy: undefined };
      const { cidr, vpc, tags } = edge;
      const subject = { cidr, cluster, transitSwitch, vpc, tags, origin: learnedOrigin };
      return { ...place, ...answerOf(decisionOf(near.policies, 'Export', subject)) };
    }),
  );
}

function obstacleTo(near: Snapshot, { cidr }: Edge): Pick<Offering, 'answer' | 'why'> | undefined {
  const use = specialUse(cidr);
  if (use !== undefined) return { answer: 'PrefixInvalid', why: `holds addresses for ${use}` };
  const holder = listRoutes(near, undefined).routes.find((route) => isOwned(route) && covers(route, cidr));
  return holder && { answer: 'Loop', why: `is within ${holder.prefix} of ${holder.cluster}` };
}

function answerOf(policy: Decision | undefined): Pick<Offering, 'answer' | 'why' | 'policy'> {
  if (policy === undefined)
    return { answer: 'NotOffered', why: 'no Export rule that names origin bgp or a tag of it allows it', policy };
  if (policy.action === 'Deny') return { answer: 'Denied', why: `RoutePolicy ${policy.policy} denies it`, policy };
  return { answer: 'Offered', why: `RoutePolicy ${policy.policy} allows it`, policy };
}

/** Reasons why the prefix is not offered to another cluster; empty if it is. */
export function stepsFor(near: Snapshot, edge: Edge, cluster: string): readonly string[] {
  const offerings = offeringsOf(near, edge, [cluster]);
  if (offerings.some(({ answer }) => answer === 'Offered')) return [];
  const why = [...new Set(offerings.map(({ answer, why: reason }) => `${reason} (${answer})`))].join('; ');
  const what = `routers of ${near.label} lead to ${edge.prefix}, learned by ${edge.nodes.join(', ')}`;
  return [`${what}, and ${cluster} is not offered it: ${why === '' ? `${edge.vpc} has no transit switch` : why}`];
}
