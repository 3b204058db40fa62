/** The Subnets and IPPools from which pods of a namespace get addresses, in order. */
import { matchesSelector } from '../../../lib/api/label-selector.ts';
import { defaultSubnet, defaultVpc, joinSubnet, systemNamespace } from '../../../lib/api/names.ts';
import { byAge } from '../../../lib/desired/rights.ts';
import { vpcNameOf } from '../../model/objects.ts';
import type { Namespace, Subnet, Vpc } from '../../model/objects.ts';
import type { Binding } from '../../model/settled.ts';
import type { View } from '../../model/view.ts';
import { defaultSubnetOf, namedDefaultSubnet } from '../vpc/default-subnet.ts';

/** The part of the state that determines bindings; tests may pass subsets. */
type Known = Pick<View, 'subnets' | 'vpcs' | 'namespaces' | 'verdicts' | 'indexes'>;

/** Subnets that are being deleted come last: they allocate no addresses, and explain why pods wait. */
function byUse(a: Subnet, b: Subnet): number {
  return Number(a.isDeleting) - Number(b.isDeleting) || byAge(a, b);
}

/** Whether a Subnet requests a namespace. */
export function requestsNamespace({ name, spec }: Subnet, namespace: string, labels: Namespace['labels']): boolean {
  const { namespaces, namespaceSelectors, provider } = spec;
  if (name === joinSubnet || (provider !== '' && provider !== 'ovn')) return false;
  return namespaces.includes(namespace) || namespaceSelectors.some((selector) => matchesSelector(selector, labels));
}

/**
 * A namespace stays in its VPC, `held`, while that VPC requests it. Otherwise it is in a VPC whose Vpc names it, or else in the VPC
 * of the oldest Subnet in force that does. The VPC's default subnet comes first, then the Subnets that request the namespace,
 * oldest first. If none requests it, the subnet is the default one.
 */
export function bindNamespace(view: Known, namespace: string, held: string | undefined): Binding {
  const labels = view.namespaces.get(namespace)?.labels ?? {};
  const { subnetsByNamespace, namespaceSelectors } = view.indexes;
  const requesting = new Set([...subnetsByNamespace.of(namespace), ...namespaceSelectors.matching(labels)]);
  const candidates = [...requesting].flatMap((name) => view.subnets.get(name) ?? []);
  const bound = candidates.filter((subnet) => requestsNamespace(subnet, namespace, labels)).sort(byAge);
  const claims = claimsOn(view, namespace).map((one) => one.name);
  const claim = claims[0] === defaultVpc ? undefined : claims[0];
  const vpcs = new Set([...claims, ...bound.map(({ spec }) => vpcNameOf(spec))]);
  const inForce = bound.find(({ name }) => view.verdicts.get(name)?.net !== undefined) ?? bound[0];
  const first = claim ?? (inForce && vpcNameOf(inForce.spec));
  const name = held !== undefined && vpcs.has(held) ? held : first;
  const vpc = view.vpcs.get(name ?? defaultVpc);
  const own = bound.filter(({ spec }) => vpcNameOf(spec) === name).sort(byUse);
  const others = bound.filter((subnet) => !own.includes(subnet)).map((subnet) => subnet.name);
  const named = vpc === undefined || vpc.name === defaultVpc ? undefined : namedDefaultSubnet(view, vpc);
  const isNamed = named !== undefined && (claims.includes(name ?? '') || own.some((subnet) => subnet.name === named));
  const names = own.map((subnet) => subnet.name).filter((one) => !isNamed || one !== named);
  if (isNamed) return { vpc: name, subnets: [named, ...names], others };
  if (names.length > 0) return { vpc: name, subnets: names, others };
  const common = vpc === undefined ? defaultSubnet : defaultSubnetOf(view, vpc);
  return { vpc: name, subnets: common === undefined ? [] : [common], others };
}

/** IPPools that request the namespace, oldest first. A pool that is being deleted allocates no addresses, and explains why pods wait. */
export function bindPools(view: Pick<View, 'ipPools' | 'indexes'>, namespace: string): readonly string[] {
  const bound = [...view.indexes.poolsByNamespace.of(namespace)].flatMap((name) => view.ipPools.get(name) ?? []);
  return bound.sort((a, b) => Number(a.isDeleting) - Number(b.isDeleting) || byAge(a, b)).map(({ name }) => name);
}

/** The VPCs that claim a namespace, oldest first. `kube-system` cannot be claimed, because all others need it. */
export function claimsOn(view: Pick<View, 'vpcs' | 'indexes'>, namespace: string): readonly Vpc[] {
  if (namespace === systemNamespace) return [];
  return [...view.indexes.vpcsByNamespace.of(namespace)].flatMap((name) => view.vpcs.get(name) ?? []).sort(byAge);
}
