/** Which Subnets and IPPools the pods of a namespace get addresses from, in order. */
import { matchesSelector } from '../../../lib/api/label-selector.ts';
import { defaultSubnet, defaultVpc, joinSubnet } from '../../../lib/api/names.ts';
import { byAge } from '../../state/objects.ts';
import type { Vpc } from '../../state/objects.ts';
import { defaultSubnetOf } from '../vpc/default-subnet.ts';
import type { View } from '../view.ts';

/** What of the state decides; subsets are enough for tests. */
type Known = Pick<View, 'subnets' | 'vpcs' | 'namespaces'>;

/** The VPC that claims the namespace; the oldest where several do. */
function vpcOf(view: Known, namespace: string): Vpc | undefined {
  const claiming = [...view.vpcs.values()].filter(
    ({ name, spec }) => name !== defaultVpc && spec.namespaces.includes(namespace),
  );
  return claiming.sort(byAge)[0];
}

/** Subnets that ask for the namespace, oldest first, behind the default one of its VPC; the default subnet where none does. */
export function bindNamespace(view: Known, namespace: string): readonly string[] {
  const labels = view.namespaces.get(namespace)?.labels ?? {};
  const bound = [...view.subnets.values()].filter((subnet) => {
    const { namespaces, namespaceSelectors, provider } = subnet.spec;
    if (subnet.name === joinSubnet || subnet.isDeleting || (provider !== '' && provider !== 'ovn')) return false;
    return namespaces.includes(namespace) || namespaceSelectors.some((selector) => matchesSelector(selector, labels));
  });
  const names = bound.sort(byAge).map(({ name }) => name);
  const vpc = vpcOf(view, namespace);
  const first = vpc === undefined ? undefined : defaultSubnetOf(view, vpc);
  if (first !== undefined) return [first, ...names.filter((name) => name !== first)];
  if (names.length > 0) return names;
  const common = view.vpcs.get(defaultVpc);
  return [(common && defaultSubnetOf(view, common)) ?? defaultSubnet];
}

/** IPPools that ask for the namespace, oldest first. */
export function bindPools(view: Pick<View, 'ipPools'>, namespace: string): readonly string[] {
  const bound = [...view.ipPools.values()].filter(
    ({ spec, isDeleting }) => !isDeleting && spec.namespaces.includes(namespace),
  );
  return bound.sort(byAge).map(({ name }) => name);
}
