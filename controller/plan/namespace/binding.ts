/** Which Subnets and IPPools the pods of a namespace get addresses from, in order. */
import { matchesSelector } from '../../../lib/api/label-selector.ts';
import { defaultSubnet, defaultVpc, joinSubnet } from '../../../lib/api/names.ts';
import { byAge } from '../../state/objects.ts';
import { defaultSubnetOf, namedDefaultSubnet } from '../vpc/default-subnet.ts';
import { vpcOfNamespace } from '../vpc/namespaces.ts';
import type { View } from '../view.ts';

/** What of the state decides; subsets are enough for tests. */
type Known = Pick<View, 'subnets' | 'vpcs' | 'namespaces'>;

/**
 * Subnets that ask for the namespace, oldest first, behind the one its VPC names as the default. Where none asks, the
 * default one of its VPC, and of ovn-cluster for namespaces of no other. Empty for those of a VPC without subnets: their
 * pods must not turn up in another VPC.
 */
export function bindNamespace(view: Known, namespace: string): readonly string[] {
  const labels = view.namespaces.get(namespace)?.labels ?? {};
  const bound = [...view.subnets.values()].filter((subnet) => {
    const { namespaces, namespaceSelectors, provider } = subnet.spec;
    if (subnet.name === joinSubnet || subnet.isDeleting || (provider !== '' && provider !== 'ovn')) return false;
    return namespaces.includes(namespace) || namespaceSelectors.some((selector) => matchesSelector(selector, labels));
  });
  const names = bound.sort(byAge).map(({ name }) => name);
  const vpc = vpcOfNamespace(view, namespace) ?? view.vpcs.get(defaultVpc);
  const first = vpc === undefined || vpc.name === defaultVpc ? undefined : namedDefaultSubnet(view, vpc);
  if (first !== undefined) return [first, ...names.filter((name) => name !== first)];
  if (names.length > 0) return names;
  const common = vpc === undefined ? defaultSubnet : defaultSubnetOf(view, vpc);
  return common === undefined ? [] : [common];
}

/** IPPools that ask for the namespace, oldest first. */
export function bindPools(view: Pick<View, 'ipPools'>, namespace: string): readonly string[] {
  const bound = [...view.ipPools.values()].filter(
    ({ spec, isDeleting }) => !isDeleting && spec.namespaces.includes(namespace),
  );
  return bound.sort(byAge).map(({ name }) => name);
}
