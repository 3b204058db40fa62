import { externalSubnet } from '../../api/names.ts';
import { fieldsOf, textOf } from '../../kube/fields.ts';
import type { RawObject } from '../../kube/types.ts';
import type { Eip, RouterPort } from '../objects.ts';
import { parseBgpAnnotation } from './annotation.ts';
import { canonicalIp } from './node.ts';

/** An external address of OVN's gateways, or the port of a router outside. */
export function parseOvnEip(raw: RawObject): Eip {
  const [spec, status] = [fieldsOf(raw['spec']), fieldsOf(raw['status'])];
  const ofRouter = status['type'] === 'lrp' ? { routerPort: routerPortOf(spec, status) } : {};
  return { ...eip('OvnEip', raw, ['v4Ip', 'v6Ip'], ['v4Ip', 'v6Ip']), ...ofRouter };
}

/** An address outside of a VpcNatGateway, which is of IPv4: `v6ip` is not served, and a dual-stack Kube-OVN wrote it into every spec. */
export function parseIptablesEip(raw: RawObject): Eip {
  return eip('IptablesEIP', raw, ['ip'], ['v4ip']);
}

/** The spec only says what the author wants: a ready object has the addresses in its status, which the controller gave. */
function eip(kind: Eip['kind'], raw: RawObject, given: readonly string[], wanted: readonly string[]): Eip {
  const [spec, status] = [fieldsOf(raw['spec']), fieldsOf(raw['status'])];
  const isReady = status['ready'] === true;
  const ips = given.map((field, at) => status[field] || (isReady ? '' : spec[wanted[at] ?? '']));
  return {
    kind,
    name: raw.metadata.name,
    uid: raw.metadata.uid,
    labels: raw.metadata.labels ?? {},
    isReady,
    ips: [...new Set(ips.flatMap((ip) => canonicalIp(textOf(ip)) ?? []))],
    gatewayPort: textOf(status['gatewayPort']),
    annotation: parseBgpAnnotation(raw.metadata.annotations),
  };
}

function routerPortOf(spec: Readonly<Record<string, unknown>>, status: Readonly<Record<string, unknown>>): RouterPort {
  const { nodes } = status;
  return {
    subnet: textOf(spec['externalSubnet']) || externalSubnet,
    nodes: Array.isArray(nodes) ? nodes.filter((node) => typeof node === 'string') : [],
    holder: textOf(status['holder']),
  };
}
