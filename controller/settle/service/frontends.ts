/** What has virtual addresses, by `namespace/name`: a Service, or the SwitchLBRule that a headless Service belongs to. */
import { annotation, label } from '../../../lib/api/names.ts';
import type { Problem } from '../../../lib/desired/problem.ts';
import type { EndpointSlice, Service } from '../../../lib/services/service.ts';
import type { SwitchLbRule } from '../../model/objects.ts';
import { isProblem, readRule, ruleNameAt, ruleServiceKey } from '../../../lib/services/switch-lb-rule.ts';
import type { View } from '../../model/view.ts';

/** The rule that has or would have the Service of this key. */
export function ruleAt(view: View, key: string): SwitchLbRule | undefined {
  const rule = view.switchLbRules.get(ruleNameAt(key) ?? '');
  return rule?.isDeleting === false && ruleServiceKey(rule) === key ? rule : undefined;
}

/** Whether a headless Service is one that a rule made, of Isthmus or of Kube-OVN. */
export function isOfRule({ type, isServed, labels, annotations }: Service): boolean {
  const isMarked = labels[label.switchLbRule] !== undefined || annotations[annotation.switchLbVip] !== undefined;
  return isMarked && !isServed && type === 'ClusterIP';
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
  if (read !== undefined && !isProblem(read) && read.slices !== undefined) return read.slices;
  const slices = [...view.indexes.slicesByService.of(key)].flatMap((name) => view.endpointSlices.get(name) ?? []);
  return rule === undefined ? slices : slices.map(withoutHints);
}

/** All clients of a rule have the same backends, because OVN checks none that differ from node to node. */
function withoutHints(slice: EndpointSlice): EndpointSlice {
  const endpoints = slice.endpoints.map((endpoint) => ({ ...endpoint, nodeHints: [], zoneHints: [] }));
  return { ...slice, endpoints };
}
