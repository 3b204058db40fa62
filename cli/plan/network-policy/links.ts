/**
 * Who may reach whom: links between workloads of a namespace, peers outside, and `anywhere`. In: workloads, policies. Out: links between ids of places, also
 * those without a port. Rule: a link between two workloads is what the egress of the one and the ingress of the other allow, and is left out
 * where the links of both with `anywhere` say the same. Pure.
 */
import { familyOf, type Family } from '../../../lib/net/ip.ts';
import type { PolicyRules } from '../../../lib/policies/policy.ts';
import type { OwnedPod } from '../../model/policy-reading.ts';
import type { OuterPeer } from './outer-peers.ts';
import { commonPorts, portTexts, reachedAt, unionOf, type PortSet } from './ports.ts';
import { allowedBy, sideOf, type Side } from './sides.ts';
import type { Workload } from './workloads.ts';

export interface Link {
  readonly from: string;
  readonly to: string;
  readonly ports: readonly string[];
  /** Whether a rule allows it; otherwise no policy isolates the workload in this direction. */
  readonly isByRule: boolean;
}

export interface Sided {
  readonly id: string;
  readonly workload: Workload;
  readonly ingress: Side;
  readonly egress: Side;
}

export const anywhere = 'anywhere';

export function sidedOf(workload: Workload, index: number, policies: ReadonlyMap<string, PolicyRules>): Sided {
  const { pod } = workload.example;
  const [ingress, egress] = [sideOf(pod, 'ingress', policies), sideOf(pod, 'egress', policies)];
  return { id: `workload ${index}`, workload, ingress, egress };
}

export function linksOf(all: readonly Sided[]): readonly Link[] {
  return [...all.flatMap(outerLinks), ...all.flatMap((from) => all.flatMap((to) => innerLinks(from, to)))];
}

function outerLinks({ id, ingress, egress }: Sided): readonly Link[] {
  const linksWith = (side: Side, link: (other: string) => Pick<Link, 'from' | 'to'>): readonly Link[] => [
    { ...link(anywhere), ports: portTexts(side.anywhere), isByRule: side.policies.size > 0 },
    ...side.peers.map(({ peer, ports }) => ({ ...link(peer.id), ports: portTexts(ports), isByRule: true })),
  ];
  return [...linksWith(ingress, (from) => ({ from, to: id })), ...linksWith(egress, (to) => ({ from: id, to }))];
}

export function peersOfSides(all: readonly Sided[]): ReadonlyMap<string, OuterPeer> {
  const peers = all.flatMap(({ ingress, egress }) => [...ingress.peers, ...egress.peers]);
  return new Map(peers.map(({ peer }) => [peer.id, peer]));
}

function innerLinks(from: Sided, to: Sided): readonly Link[] {
  const [{ egress }, { ingress }] = [from, to];
  if (egress.policies.size + ingress.policies.size === 0) return [];
  // A pod always reaches itself.
  if (from === to && from.workload.pods.length === 1) return [];
  const [source, destination] = [from.workload.example, to.workload.example];
  const ports = portTexts(allowedBetween(source, egress, destination, ingress));
  const outside = commonPorts(reachedAt(egress.anywhere, destination.pod.namedPorts), ingress.anywhere);
  const isKnown = ports.join() === portTexts(outside).join();
  return isKnown ? [] : [{ from: from.id, to: to.id, ports, isByRule: true }];
}

/** In any family that both ends have. */
function allowedBetween(source: OwnedPod, egress: Side, destination: OwnedPod, ingress: Side): PortSet {
  return unionOf(
    ([4, 6] as const).flatMap((family): readonly PortSet[] => {
      const [from, to] = [endOf(source, family), endOf(destination, family)];
      if (from === undefined || to === undefined) return [];
      return [commonPorts(allowedBy(egress, { from, to }), allowedBy(ingress, { from, to }))];
    }),
  );
}

function endOf({ pod, addresses }: OwnedPod, family: Family) {
  const address = addresses.find((one) => familyOf(one) === family);
  return address === undefined ? undefined : { pod, address };
}
