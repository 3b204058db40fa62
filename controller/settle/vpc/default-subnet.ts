import { defaultProvider, defaultSubnet, defaultVpc, joinSubnet } from '../../../lib/api/names.ts';
import type { Problem } from '../../../lib/desired/problem.ts';
import { byAge } from '../../../lib/desired/rights.ts';
import { vpcNameOf } from '../../model/objects.ts';
import type { Subnet, Vpc } from '../../model/objects.ts';
import type { View } from '../../model/view.ts';

/** Whether pods of a VPC's namespaces can live in a Subnet. */
function isFit({ name, spec }: Subnet, vpc: string): boolean {
  const isPrimary = spec.provider === '' || spec.provider === defaultProvider;
  return vpcNameOf(spec) === vpc && isPrimary && name !== joinSubnet;
}

/** The problem of the Subnet that a Vpc names as its default; `isWaiting` if the Subnet may still be created. */
export function defaultSubnetProblem(
  view: Pick<View, 'subnets'>,
  { name, spec }: Vpc,
): { readonly problem: Problem; readonly isWaiting: boolean } | undefined {
  const wanted = spec.defaultSubnet;
  const subnet = view.subnets.get(wanted);
  if (wanted === '' || (subnet !== undefined && isFit(subnet, name))) return undefined;
  const code = 'DefaultSubnetInvalid';
  if (subnet === undefined) {
    const message = `spec.defaultSubnet: subnet ${wanted} does not exist: create it in this Vpc, or name another`;
    return { problem: { code, message }, isWaiting: true };
  }
  const cause =
    vpcNameOf(subnet.spec) === name
      ? `subnet ${wanted} is not for the first interface of pods`
      : `subnet ${wanted} is in Vpc ${vpcNameOf(subnet.spec)}`;
  return { problem: { code, message: `spec.defaultSubnet: ${cause}: name a subnet of this Vpc` }, isWaiting: false };
}

/**
 * The Subnet a Vpc names as its default, also while it does not exist, so that pods wait for it; undefined if it
 * names none, or one that is not its own.
 */
export function namedDefaultSubnet(view: Pick<View, 'subnets'>, vpc: Vpc): string | undefined {
  const found = defaultSubnetProblem(view, vpc);
  return vpc.spec.defaultSubnet === '' || found?.isWaiting === false ? undefined : vpc.spec.defaultSubnet;
}

/** The Subnet for pods of a VPC's namespaces: the one that the Vpc names, else its oldest; undefined if it has none. */
export function defaultSubnetOf(view: Pick<View, 'subnets' | 'indexes'>, vpc: Vpc): string | undefined {
  const named = namedDefaultSubnet(view, vpc);
  if (named !== undefined) return named;
  if (vpc.name === defaultVpc) return defaultSubnet;
  const subnets = [...view.indexes.subnetsByVpc.of(vpc.name)].flatMap((name) => view.subnets.get(name) ?? []);
  const own = subnets.filter((subnet) => isFit(subnet, vpc.name) && !subnet.isDeleting);
  return own.sort(byAge)[0]?.name;
}
