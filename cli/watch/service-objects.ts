/** Raw objects → what decides how a client reaches a Service or a SwitchLBRule. */
import { conditionsOf } from '../../lib/api/conditions.ts';
import { annotation, defaultVpc } from '../../lib/api/names.ts';
import { fieldsOf, numberOf, recordsOf, textOf, textsOf } from '../../lib/kube/fields.ts';
import { keyOf } from '../../lib/kube/resources.ts';
import type { RawObject } from '../../lib/kube/types.ts';
import { parseRuleObject } from '../../lib/services/switch-lb-rule.ts';
import type { ReportedRule, ServiceNode, ServicePod, ServiceSubnet } from '../model/service-reading.ts';

const zoneLabel = 'topology.kubernetes.io/zone';

export function parsePod(raw: RawObject): ServicePod {
  const [spec, status] = [fieldsOf(raw['spec']), fieldsOf(raw['status'])];
  const { annotations = {} } = raw.metadata;
  return {
    key: keyOf(raw.metadata),
    node: textOf(spec['nodeName']),
    isHostNetwork: spec['hostNetwork'] === true,
    vpc: annotations[annotation.logicalRouter] ?? '',
    subnet: annotations[annotation.logicalSwitch] ?? '',
    addresses: recordsOf(status['podIPs']).map(({ ip }) => textOf(ip)),
  };
}

export function parseNode(raw: RawObject): ServiceNode {
  const addresses = recordsOf(fieldsOf(raw['status'])['addresses']);
  return {
    name: raw.metadata.name,
    zone: raw.metadata.labels?.[zoneLabel] ?? '',
    addresses: addresses.filter(({ type }) => type === 'InternalIP').map(({ address }) => textOf(address)),
  };
}

export function parseSubnet(raw: RawObject): ServiceSubnet {
  const spec = fieldsOf(raw['spec']);
  return { vpc: textOf(spec['vpc']) || defaultVpc, hasLoadBalancers: spec['enableLb'] !== false };
}

export function parseRule(raw: RawObject): ReportedRule {
  const status = fieldsOf(raw['status']);
  return {
    object: parseRuleObject(raw),
    generation: raw.metadata.generation ?? 0,
    conditions: conditionsOf(status),
    vpc: textOf(status['vpc']),
    unserved: textsOf(status['unserved']),
    backends: recordsOf(status['backends']).map((backend) => ({
      address: textOf(backend['address']),
      port: numberOf(backend['port']),
      protocol: textOf(backend['protocol']),
      pod: textOf(backend['pod']) || undefined,
      state: textOf(backend['state']),
      reason: textOf(backend['reason']),
    })),
  };
}
