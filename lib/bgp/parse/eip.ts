import { fieldsOf, textOf } from '../../kube/fields.ts';
import type { RawObject } from '../../kube/types.ts';
import type { Eip } from '../objects.ts';
import { parseBgpAnnotation } from './annotation.ts';
import { canonicalIp } from './node.ts';

/** An external address of OVN's gateways. */
export function parseOvnEip(raw: RawObject): Eip {
  const [spec, status] = [fieldsOf(raw['spec']), fieldsOf(raw['status'])];
  return eip('OvnEip', raw, [status['v4Ip'] || spec['v4Ip'], status['v6Ip'] || spec['v6Ip']]);
}

/** An address outside of a VpcNatGateway, which is of IPv4: `v6ip` is not served, and a dual-stack Kube-OVN wrote it into every spec. */
export function parseIptablesEip(raw: RawObject): Eip {
  const [spec, status] = [fieldsOf(raw['spec']), fieldsOf(raw['status'])];
  return eip('IptablesEIP', raw, [status['ip'] || spec['v4ip']]);
}

function eip(kind: Eip['kind'], raw: RawObject, ips: readonly unknown[]): Eip {
  return {
    kind,
    name: raw.metadata.name,
    uid: raw.metadata.uid,
    labels: raw.metadata.labels ?? {},
    isReady: fieldsOf(raw['status'])['ready'] === true,
    ips: [...new Set(ips.flatMap((ip) => canonicalIp(textOf(ip)) ?? []))],
    annotation: parseBgpAnnotation(raw.metadata.annotations),
  };
}
