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
    const message = `namespace ${namespace} is in Vpc ${vpc}${place}, and a namespace is in one Vpc: this Subnet is in Vpc ${vpcNameOf(spec)} and gives its pods none; take the namespace out of spec.namespaces and spec.namespaceSelectors here, or there`;
    return { namespace, code: 'NamespaceConflict', message };
  });
}
