/**
 * Who may reach whom: links between workloads of a namespace, peers outside, and `anywhere`. In: workloads, policies. Out: links between ids of places, also
 * those without a port. Rule: a link between two workloads is what the egress of the one and the ingress of the other allow, and is left out
 * where the links of both with `anywhere` say the same. What those links show and a policy of the whole cluster denies is a link of its own. Pure.
 */
import { familyOf, type Family } from '../../../lib/net/ip.ts';
import type { OwnedPod } from '../../model/policy-reading.ts';
import type { AllPolicies } from './decide.ts';
import type { OuterPeer } from './outer-peers.ts';
import { commonPorts, isEmpty, portsWithout, portTexts, reachedAt, unionOf, type PortSet } from './ports.ts';
import { allowedBy, sideOf, type Side } from './sides.ts';
import type { Workload } from './workloads.ts';

export interface Link {
  readonly from: string;
  readonly to: string;
  readonly ports: readonly string[];
  /** Whether a rule allows or denies it; otherwise no NetworkPolicy isolates the workload in this direction. */
  readonly isByRule: boolean;
  /** Whether these ports are denied, although the links with `anywhere` show them. */
  readonly isDenied: boolean;
}

export interface Sided {
  readonly id: string;
  readonly workload: Workload;
  readonly ingress: Side;
  readonly egress: Side;
}

export const anywhere = 'anywhere';

export function sidedOf(workload: Workload, index: number, all: AllPolicies): Sided {
  const { pod } = workload.example;
  const [ingress, egress] = [sideOf(pod, 'ingress', all), sideOf(pod, 'egress', all)];
  return { id: `workload ${index}`, workload, ingress, egress };
}

export function linksOf(workloads: readonly Sided[], all: AllPolicies): readonly Link[] {
  return [
    ...workloads.flatMap(outerLinks),
    ...workloads.flatMap((from) => workloads.flatMap((to) => innerLinks(from, to, all))),
  ];
}

type Ends = Pick<Link, 'from' | 'to'>;

function outerLinks({ id, ingress, egress }: Sided): readonly Link[] {
  const linksWith = (side: Side, link: (other: string) => Ends): readonly Link[] => [
    { ...link(anywhere), ports: portTexts(side.anywhere), isByRule: side.isIsolated, isDenied: false },
    ...side.peers.flatMap(({ peer, allowed, denied }) => ruleLinks(link(peer.id), allowed, denied)),
  ];
  return [...linksWith(ingress, (from) => ({ from, to: id })), ...linksWith(egress, (to) => ({ from: id, to }))];
}

function ruleLinks(ends: Ends, allowed: PortSet, denied: PortSet): readonly Link[] {
  return [
    { ...ends, ports: portTexts(allowed), isByRule: true, isDenied: false },
    { ...ends, ports: portTexts(denied), isByRule: true, isDenied: true },
  ];
}

export function peersOfSides(all: readonly Sided[]): ReadonlyMap<string, OuterPeer> {
  const peers = all.flatMap(({ ingress, egress }) => [...ingress.peers, ...egress.peers]);
  return new Map(peers.map(({ peer }) => [peer.id, peer]));
}

function innerLinks(from: Sided, to: Sided, all: AllPolicies): readonly Link[] {
  const [{ egress }, { ingress }] = [from, to];
  if (!egress.isSelected && !ingress.isSelected) return [];
  // A pod always reaches itself.
  if (from === to && from.workload.pods.length === 1) return [];
  const [source, destination] = [from.workload.example, to.workload.example];
  const allowed = allowedBetween(source, egress, destination, ingress, all);
  const outside = commonPorts(reachedAt(egress.anywhere, destination.pod.namedPorts), ingress.anywhere);
  const isMore = !isEmpty(portsWithout(allowed, outside)) && portTexts(allowed).join() !== portTexts(outside).join();
  return ruleLinks({ from: from.id, to: to.id }, isMore ? allowed : [], portsWithout(outside, allowed));
}

/** In any family that both ends have. */
function allowedBetween(
  source: OwnedPod,
  egress: Side,
  destination: OwnedPod,
  ingress: Side,
  all: AllPolicies,
): PortSet {
  return unionOf(
    ([4, 6] as const).flatMap((family): readonly PortSet[] => {
      const [from, to] = [endOf(source, family), endOf(destination, family)];
      if (from === undefined || to === undefined) return [];
      return [commonPorts(allowedBy(egress, all, { from, to }), allowedBy(ingress, all, { from, to }))];
    }),
  );
}

function endOf({ pod, addresses }: OwnedPod, family: Family) {
  const address = addresses.find((one) => familyOf(one) === family);
  return address === undefined ? undefined : { pod, address };
}
