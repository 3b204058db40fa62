import { annotation, defaultSubnet, joinSubnet } from '../../lib/api/names.ts';
import type { LabelSelector } from '../../lib/api/kinds/shared.ts';
import { byAge } from '../state/objects.ts';
import type { Namespace, Subnet } from '../state/objects.ts';
import { cidrText } from './accepted-note.ts';
import type { View } from './view.ts';

function matches(selector: LabelSelector, labels: Readonly<Record<string, string>>): boolean {
  const pairs = Object.entries(selector.matchLabels ?? {});
  const expressions = selector.matchExpressions ?? [];
  if (pairs.some(([key, value]) => labels[key] !== value)) return false;
  return expressions.every(({ key, operator, values = [] }) => {
    const value = labels[key];
    if (operator === 'Exists') return value !== undefined;
    if (operator === 'DoesNotExist') return value === undefined;
    const isIn = value !== undefined && values.includes(value);
    return operator === 'In' ? isIn : !isIn;
  });
}

/** Subnets that ask for the namespace, oldest first; the default subnet where none does. */
export function bindNamespace(
  namespace: string,
  labels: Readonly<Record<string, string>>,
  subnets: Iterable<Subnet>,
): readonly string[] {
  const bound = [...subnets].filter((subnet) => {
    if (subnet.name === joinSubnet || subnet.isDeleting) return false;
    const { namespaces, namespaceSelectors } = subnet.spec;
    return namespaces.includes(namespace) || namespaceSelectors.some((selector) => matches(selector, labels));
  });
  return bound.length === 0 ? [defaultSubnet] : bound.sort(byAge).map(({ name }) => name);
}

/** Subnets of the namespace that are in force, as lists of equal length; null takes an annotation away. */
export function planNamespaceAnnotations(view: View, namespace: Namespace): Readonly<Record<string, string | null>> {
  const names: string[] = [];
  const cidrs: string[] = [];
  const excludes: string[] = [];
  for (const name of view.boundSubnets(namespace.name)) {
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
  };
}
