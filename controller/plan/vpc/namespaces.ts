import { systemNamespace } from '../../../lib/api/names.ts';
import type { Problem } from '../../../lib/desired/problem.ts';
import type { Vpc } from '../../model/objects.ts';
import type { View } from '../../model/view.ts';
import { claimsOn } from '../../settle/namespace/binding.ts';

/** The Vpc that has a namespace which Vpcs list. */
function holderOf(view: Pick<View, 'vpcs' | 'indexes' | 'binding'>, namespace: string): string | undefined {
  return view.binding(namespace).vpc ?? claimsOn(view, namespace)[0]?.name;
}

/** Namespaces that a Vpc claims and has, for its status: without Subnets, no other record of them survives a restart. */
export function namespacesHeld(
  view: Pick<View, 'vpcs' | 'indexes' | 'binding'>,
  { name, spec }: Vpc,
): readonly string[] {
  return [...new Set(spec.namespaces)].filter((namespace) => holderOf(view, namespace) === name);
}

/** Namespaces a Vpc claims and does not get. */
export function namespaceProblems(view: Pick<View, 'vpcs' | 'indexes' | 'binding'>, vpc: Vpc): readonly Problem[] {
  return [...new Set(vpc.spec.namespaces)].flatMap((namespace): Problem[] => {
    const holder = holderOf(view, namespace);
    if (holder === vpc.name) return [];
    const { subnets } = view.binding(namespace);
    const by = subnets.length === 0 ? '' : ` by ${subnets.join(', ')}`;
    const cause =
      holder === undefined || namespace === systemNamespace
        ? `${namespace} serves all VPCs and stays in its own`
        : `${namespace} is in Vpc ${holder}${by}, which had it before`;
    return [{ code: 'NamespaceConflict', message: `spec.namespaces: ${cause}: remove it here, or there` }];
  });
}
