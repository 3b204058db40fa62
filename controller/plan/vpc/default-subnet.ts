import { defaultSubnet, defaultVpc } from '../../../lib/api/names.ts';
import { byAge } from '../../state/objects.ts';
import type { Vpc } from '../../state/objects.ts';
import type { View } from '../view.ts';

/** The VPC a Subnet is in. */
export function vpcNameOf(spec: { readonly vpc: string }): string {
  return spec.vpc === '' ? defaultVpc : spec.vpc;
}

/** Where pods of a VPC's namespaces go: the Subnet it names, else its oldest; undefined where it has none. */
export function defaultSubnetOf(view: Pick<View, 'subnets'>, { name, spec }: Vpc): string | undefined {
  if (spec.defaultSubnet !== '') return spec.defaultSubnet;
  if (name === defaultVpc) return defaultSubnet;
  const own = [...view.subnets.values()].filter((subnet) => vpcNameOf(subnet.spec) === name && !subnet.isDeleting);
  return own.sort(byAge)[0]?.name;
}
