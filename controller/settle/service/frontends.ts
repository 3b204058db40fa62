/** What has virtual addresses, by `namespace/name`: a Service, or the SwitchLBRule that a headless Service belongs to. */
import type { Problem } from '../../../lib/desired/problem.ts';
import type { EndpointSlice, Service } from '../../../lib/services/service.ts';
import type { SwitchLbRule } from '../../model/objects.ts';
import {
  isOfRule,
  isProblem,
  readRule,
  ruleNameAt,
  ruleServiceKey,
  ruleSlices,
} from '../../../lib/services/switch-lb-rule.ts';
import type { View } from '../../model/view.ts';

/** The rule that has or would have the Service of this key. */
export function ruleAt(view: View, key: string): SwitchLbRule | undefined {
  const rule = view.switchLbRules.get(ruleNameAt(key) ?? '');
  return rule?.isDeleting === false && ruleServiceKey(rule) === key ? rule : undefined;
}

/** Why a rule has no virtual address at all: its spec, its namespace, or the name of its Service. */
export function ruleProblem(view: View, rule: SwitchLbRule): Problem | undefined {
  const read = readRule(rule);
  if (isProblem(read)) return read;
  const namespace = view.namespaces.get(rule.spec.namespace);
  if (namespace === undefined || namespace.isDeleting) {
    const message = `spec.namespace: namespace ${rule.spec.namespace} does not exist, or is being deleted: create it, or name another`;
    return { code: 'NamespaceNotFound', message };
  }
  const key = ruleServiceKey(rule);
  const service = view.services.get(key);
  if (service === undefined || isOfRule(service)) return undefined;
  const message = `Service ${key}, whose name the rule needs, was not created by a rule: delete it, or rename the rule`;
  return { code: 'ServiceNameTaken', message };
}

/** The rule whose virtual addresses the key stands for; undefined where it stands for a Service. */
export function servingRuleAt(view: View, key: string): SwitchLbRule | undefined {
  const rule = ruleAt(view, key);
  return rule === undefined || ruleProblem(view, rule) !== undefined ? undefined : rule;
}

export function frontendOf(view: View, key: string): Service | undefined {
  const rule = servingRuleAt(view, key);
  const read = rule && readRule(rule);
  return read === undefined || isProblem(read) ? view.services.get(key) : read.service;
}

/** The name of a frontend in a sentence. */
export function frontendName(view: View, key: string): string {
  const rule = servingRuleAt(view, key);
  return rule === undefined ? `Service ${key}` : `SwitchLBRule ${rule.name}`;
}

/** The EndpointSlices of a frontend. */
export function slicesOf(view: View, key: string): readonly EndpointSlice[] {
  const rule = servingRuleAt(view, key);
  const read = rule && readRule(rule);
  const slices = [...view.indexes.slicesByService.of(key)].flatMap((name) => view.endpointSlices.get(name) ?? []);
  return read === undefined || isProblem(read) ? slices : ruleSlices(read, slices);
}
