import { defaultVpc, systemNamespace } from '../../../lib/api/names.ts';
import type { Problem } from '../../../lib/desired/problem.ts';
import { byAge } from '../../state/objects.ts';
import type { Vpc } from '../../state/objects.ts';
import type { View } from '../view.ts';

/** The VPC that claims a namespace, the oldest where several do; what all others need, `kube-system`, is not to be had. */
export function vpcOfNamespace(view: Pick<View, 'vpcs'>, namespace: string): Vpc | undefined {
  if (namespace === systemNamespace) return undefined;
  let oldest: Vpc | undefined;
  for (const vpc of view.vpcs.values()) {
    if (!vpc.spec.namespaces.includes(namespace)) continue;
    if (oldest === undefined || byAge(vpc, oldest) < 0) oldest = vpc;
  }
  return oldest;
}

/** Namespaces a Vpc claims and does not get. */
export function namespaceProblems(view: Pick<View, 'vpcs' | 'binding'>, vpc: Vpc): readonly Problem[] {
  return [...new Set(vpc.spec.namespaces)].flatMap((namespace): Problem[] => {
    const holder = vpcOfNamespace(view, namespace);
    const { vpc: held, subnets } = view.binding(namespace);
    if (holder?.name === vpc.name && held !== undefined && held !== vpc.name && vpc.name !== defaultVpc) {
      const message = `spec.namespaces: ${namespace} is in Vpc ${held} by ${subnets.join(', ')}, which had it before: remove it here, or there`;
      return [{ code: 'NamespaceConflict', message }];
    }
    if (holder?.name === vpc.name) return [];
    const cause =
      holder === undefined
        ? `${namespace} serves all VPCs and stays in its own`
        : `${namespace} belongs to Vpc ${holder.name}, which is older`;
    return [{ code: 'NamespaceConflict', message: `spec.namespaces: ${cause}: remove it here` }];
  });
}
