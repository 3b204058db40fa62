/** The edge, addresses: IPs, IPPools, LoadBalancerPools, SharedAddresses, SwitchLBRules and Vips. */
import type { RawObject } from '../../lib/kube/types.ts';
import type { IpObject, IpPool, LoadBalancerPool, SharedAddress, SwitchLbRule, Vip } from '../model/objects.ts';
import { fieldsOf, textOf, textsOf } from '../../lib/kube/fields.ts';
import { parseIp as parseIpText } from '../../lib/net/ip.ts';
import { parseRuleObject } from '../../lib/services/switch-lb-rule.ts';
import { readSelector } from '../../lib/api/label-selector.ts';
import { apiFactsOf, factsOf } from './fields.ts';
import { shared, sharedRecord } from './shared.ts';

const none: readonly string[] = [];

export function parseIp(raw: RawObject): IpObject {
  const spec = fieldsOf(raw['spec']);
  const [ipAddress, v4IpAddress] = [textOf(spec['ipAddress']), textOf(spec['v4IpAddress'])];
  const { name, uid, resourceVersion, createdMs, isDeleting } = factsOf(raw);
  return {
    name,
    uid,
    resourceVersion,
    createdMs,
    isDeleting,
    finalizers: raw.metadata.finalizers ?? none,
    labels: sharedRecord(raw.metadata.labels),
    spec: {
      podName: textOf(spec['podName']),
      namespace: shared(textOf(spec['namespace'])),
      subnet: shared(textOf(spec['subnet'])),
      nodeName: shared(textOf(spec['nodeName'])),
      ipAddress,
      // The same text where there is one family.
      v4IpAddress: v4IpAddress === ipAddress ? ipAddress : v4IpAddress,
      v6IpAddress: textOf(spec['v6IpAddress']),
      macAddress: textOf(spec['macAddress']),
      podType: textOf(spec['podType']),
    },
  };
}

export function parseIpPool(raw: RawObject): IpPool {
  const spec = fieldsOf(raw['spec']);
  return {
    ...apiFactsOf(raw),
    spec: {
      subnet: textOf(spec['subnet']),
      ips: textsOf(spec['ips']),
      namespaces: textsOf(spec['namespaces']),
      enableAddressSet: spec['enableAddressSet'] === true,
    },
  };
}

export function parseLoadBalancerPool(raw: RawObject): LoadBalancerPool {
  const spec = fieldsOf(raw['spec']);
  return {
    ...apiFactsOf(raw),
    spec: {
      addresses: textsOf(spec['addresses']),
      serviceSelector: readSelector(spec['serviceSelector'] ?? {}),
      namespaceSelector: readSelector(spec['namespaceSelector'] ?? {}),
      autoAssign: spec['autoAssign'] !== false,
      isShared: spec['shared'] !== undefined,
    },
  };
}

export function parseSharedAddress(raw: RawObject): SharedAddress {
  const spec = fieldsOf(raw['spec']);
  const service = fieldsOf(spec['service']);
  const ips = textsOf(spec['addresses']).flatMap((text) => parseIpText(text) ?? []);
  return {
    service: `${textOf(service['namespace'])}/${textOf(service['name'])}`,
    pool: textOf(spec['pool']),
    addresses: new Map(ips.map((ip) => [ip.family, ip])),
    reason: textOf(spec['reason']),
    message: textOf(spec['message']),
  };
}

export function parseSwitchLbRule(raw: RawObject): SwitchLbRule {
  return { ...apiFactsOf(raw), ...parseRuleObject(raw) };
}

export function parseVip(raw: RawObject): Vip {
  const spec = fieldsOf(raw['spec']);
  return {
    ...apiFactsOf(raw),
    labels: raw.metadata.labels ?? {},
    spec: {
      namespace: textOf(spec['namespace']),
      subnet: textOf(spec['subnet']),
      type: textOf(spec['type']),
      v4ip: textOf(spec['v4ip']),
      v6ip: textOf(spec['v6ip']),
      macAddress: textOf(spec['macAddress']),
      selector: textsOf(spec['selector']),
      attachSubnets: textsOf(spec['attachSubnets']),
    },
  };
}
