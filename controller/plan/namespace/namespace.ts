import { annotation } from '../../../lib/api/names.ts';
import type { Namespace } from '../../model/objects.ts';
import type { Feature } from '../feature.ts';
import { cidrText } from '../../settle/subnet/accepted-note.ts';
import type { View } from '../../model/view.ts';
import type { ObjectReport } from '../report.ts';

/** Subnets of the namespace that are in force, as lists of equal length; null takes an annotation away. */
export function planNamespaceAnnotations(view: View, namespace: Namespace): Readonly<Record<string, string | null>> {
  const names: string[] = [];
  const cidrs: string[] = [];
  const excludes: string[] = [];
  for (const name of view.binding(namespace.name).subnets) {
    const verdict = view.verdicts.get(name);
    if (verdict?.net === undefined) continue;
    names.push(name);
    cidrs.push(cidrText(verdict.net));
    excludes.push((verdict.spec?.excludeIps ?? []).join(','));
  }
  const isBound = names.length > 0;
  return {
    [annotation.logicalSwitch]: isBound ? names.join(',') : null,
    [annotation.cidr]: isBound ? cidrs.join(';') : null,
    [annotation.excludeIps]: isBound ? excludes.join(';') : null,
    [annotation.ipPool]: view.boundPools(namespace.name).join(',') || null,
  };
}

function reportNamespace(view: View, name: string): readonly ObjectReport[] {
  const object = { kind: 'namespaces', name } as const;
  const namespace = view.namespaces.get(name);
  if (namespace === undefined || namespace.isDeleting) return [{ object }];
  return [{ object, annotations: planNamespaceAnnotations(view, namespace) }];
}

/** Annotations of a namespace about the subnets of its pods; it has no rows. */
export const namespaceFeature: Feature = {
  name: 'namespace',
  all: (view) => view.namespaces.keys(),
  reads(change, view) {
    if (change.kind === 'namespaces' || change.kind === 'bindings') return [change.name];
    if (change.kind === 'verdicts') return view.namespacesOf(change.name);
    if (change.kind !== 'ipPools') return [];
    return [change.before, change.after].flatMap((pool) => pool?.spec.namespaces ?? []);
  },
  report: reportNamespace,
};
