import type { Problem } from '../../../lib/desired/problem.ts';
import { vpcNameOf } from '../../model/objects.ts';
import type { View } from '../../model/view.ts';

/** Problems of namespaces that a Subnet requests in vain, because they are in another VPC. */
export function unservedNamespaceProblems(
  view: View,
  subnet: string,
): readonly (Problem & { readonly namespace: string })[] {
  const spec = view.subnets.get(subnet)?.spec;
  if (spec === undefined) return [];
  return view.unservedNamespaces(subnet).map((namespace) => {
    const { vpc, subnets } = view.binding(namespace);
    const place = subnets.length === 0 ? '' : `, where its pods get addresses of ${subnets.join(', ')}`;
    const message = `namespace ${namespace} is in Vpc ${vpc}${place}, and a namespace belongs to one Vpc: this Subnet is in Vpc ${vpcNameOf(spec)}, and pods of the namespace get none of its addresses; remove the namespace from spec.namespaces and spec.namespaceSelectors of this Subnet, or from the other Vpc and its Subnets`;
    return { namespace, code: 'NamespaceConflict', message };
  });
}
