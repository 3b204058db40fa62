/** What has virtual addresses, by `namespace/name`: a Service, or the SwitchLBRule or RouterLBRule that a headless Service belongs to. */
import type { Problem } from '../../../lib/desired/problem.ts';
import type { EndpointSlice, Service } from '../../../lib/services/service.ts';
import { familyOf } from '../../../lib/net/ip.ts';
import { lbRuleStores, type LbRule, type LbRuleStore } from '../../model/objects.ts';
import { eipPort } from '../../model/ovn-names.ts';
import {
  isOfRule,
  isProblem,
  readRule,
  ruleNameAt,
  ruleServiceKey,
  ruleSlices,
  type ReadRule,
} from '../../../lib/services/switch-lb-rule.ts';
import type { View } from '../../model/view.ts';

const stores = Object.keys(lbRuleStores) as readonly LbRuleStore[];

/** The rule that has or would have the Service of this key. */
export function ruleAt(view: View, key: string): LbRule | undefined {
  for (const store of stores) {
    const rule = view[store].get(ruleNameAt(key, lbRuleStores[store]) ?? '');
    if (rule?.isDeleting === false && ruleServiceKey(rule) === key) return rule;
  }
  return undefined;
}

/** The Service that a rule amounts to. One of a router has the addresses of its OvnEip. */
export function ruleService(view: Pick<View, 'allocation'>, { spec }: LbRule, { service }: ReadRule): Service {
  if (!('eip' in spec)) return service;
  const { v4, v6 } = view.allocation(eipPort(spec.eip)) ?? {};
  const clusterIps = [v4, v6].filter((ip) => ip !== undefined);
  return { ...service, clusterIps, ipFamilies: clusterIps.map(familyOf) };
}

/** Why a rule has no virtual address at all: its spec, its namespace, or the name of its Service. */
export function ruleProblem(view: View, rule: LbRule): Problem | undefined {
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
export function servingRuleAt(view: View, key: string): LbRule | undefined {
  const rule = ruleAt(view, key);
  return rule === undefined || ruleProblem(view, rule) !== undefined ? undefined : rule;
}

export function frontendOf(view: View, key: string): Service | undefined {
  const rule = servingRuleAt(view, key);
  const read = rule && readRule(rule);
  return rule === undefined || read === undefined || isProblem(read)
    ? view.services.get(key)
    : ruleService(view, rule, read);
}

/** The name of a frontend in a sentence. */
export function frontendName(view: View, key: string): string {
  const rule = servingRuleAt(view, key);
  return rule === undefined ? `Service ${key}` : `${rule.kind} ${rule.name}`;
}

/** The EndpointSlices of a frontend. */
export function slicesOf(view: View, key: string): readonly EndpointSlice[] {
  const rule = servingRuleAt(view, key);
  const read = rule && readRule(rule);
  const slices = [...view.indexes.slicesByService.of(key)].flatMap((name) => view.endpointSlices.get(name) ?? []);
  return read === undefined || isProblem(read) ? slices : ruleSlices(read, slices);
}

/** The EndpointSlices of a frontend, without endpoints in other VPCs. */
export function slicesInVpc(view: View, key: string): readonly EndpointSlice[] {
  return withoutAddresses(slicesOf(view, key), view.serviceVerdicts.get(key)?.foreignEndpoints ?? []);
}

export function withoutAddresses(
  slices: readonly EndpointSlice[],
  addresses: readonly string[],
): readonly EndpointSlice[] {
  if (addresses.length === 0) return slices;
  const left = new Set(addresses);
  return slices.map((slice) => ({
    ...slice,
    endpoints: slice.endpoints.filter(({ address }) => !left.has(address)),
  }));
}
