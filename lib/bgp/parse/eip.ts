import type { RawObject } from '../../kube/types.ts';
import type { Eip } from '../objects.ts';
import { parseBgpAnnotation } from './annotation.ts';
import { canonicalIp } from './node.ts';

interface RawEip {
  readonly spec?: { readonly v4ip?: string; readonly v6ip?: string; readonly v4Ip?: string; readonly v6Ip?: string };
  readonly status?: { readonly ready?: boolean; readonly ip?: string; readonly v4Ip?: string; readonly v6Ip?: string };
}

/** An external address of OVN's gateways. */
export function parseOvnEip(raw: RawObject): Eip {
  const { spec, status } = raw as RawEip;
  return eip('OvnEip', raw, [status?.v4Ip || spec?.v4Ip, status?.v6Ip || spec?.v6Ip]);
}

/** An external address of a NAT gateway pod. */
export function parseIptablesEip(raw: RawObject): Eip {
  const { spec, status } = raw as RawEip;
  return eip('IptablesEIP', raw, [status?.ip || spec?.v4ip, spec?.v6ip]);
}

function eip(kind: Eip['kind'], raw: RawObject, ips: readonly (string | undefined)[]): Eip {
  return {
    kind,
    name: raw.metadata.name,
    uid: raw.metadata.uid,
    labels: raw.metadata.labels ?? {},
    isReady: (raw as RawEip).status?.ready === true,
    ips: [...new Set(ips.flatMap((ip) => canonicalIp(ip ?? '') ?? []))],
    annotation: parseBgpAnnotation(raw.metadata.annotations),
  };
}
