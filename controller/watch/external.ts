/** The edge, addresses outside of the cluster: OvnEips, and the rules of VPCs that use them. */
import { annotation, externalSubnet } from '../../lib/api/names.ts';
import { type Fields, fieldsOf, textOf } from '../../lib/kube/fields.ts';
import type { RawObject } from '../../lib/kube/types.ts';
import type { InsideSpec, OvnDnatRule, OvnEip, OvnFip, OvnSnatRule } from '../model/external-objects.ts';
import { apiFactsOf } from './fields.ts';

export function parseOvnEip(raw: RawObject): OvnEip {
  const spec = fieldsOf(raw['spec']);
  return {
    ...apiFactsOf(raw),
    id: raw.metadata.name,
    labels: raw.metadata.labels ?? {},
    spec: {
      externalSubnet: textOf(spec['externalSubnet']) || externalSubnet,
      v4Ip: textOf(spec['v4Ip']),
      v6Ip: textOf(spec['v6Ip']),
      macAddress: textOf(spec['macAddress']),
      type: textOf(spec['type']),
      natGateway: undefined,
    },
    unsupported: [],
  };
}

function insideOf(spec: Fields): InsideSpec {
  return {
    eip: textOf(spec['ovnEip']),
    ipType: textOf(spec['ipType']),
    ipName: textOf(spec['ipName']),
    vpc: textOf(spec['vpc']),
    v4Ip: textOf(spec['v4Ip']),
    v6Ip: textOf(spec['v6Ip']),
  };
}

export function parseOvnFip(raw: RawObject): OvnFip {
  const spec = fieldsOf(raw['spec']);
  return { ...apiFactsOf(raw), spec: { ...insideOf(spec), type: textOf(spec['type']) } };
}

export function parseOvnSnatRule(raw: RawObject): OvnSnatRule {
  const spec = fieldsOf(raw['spec']);
  return {
    ...apiFactsOf(raw),
    spec: {
      eip: textOf(spec['ovnEip']),
      vpcSubnet: textOf(spec['vpcSubnet']),
      ipName: textOf(spec['ipName']),
      vpc: textOf(spec['vpc']),
      v4IpCidr: textOf(spec['v4IpCidr']),
      v6IpCidr: textOf(spec['v6IpCidr']),
    },
  };
}

export function parseOvnDnatRule(raw: RawObject): OvnDnatRule {
  const spec = fieldsOf(raw['spec']);
  return {
    ...apiFactsOf(raw),
    isFormer: raw.metadata.annotations?.[annotation.formerEip] !== undefined,
    isShared: false,
    spec: {
      ...insideOf(spec),
      internalPort: textOf(spec['internalPort']),
      externalPort: textOf(spec['externalPort']),
      protocol: textOf(spec['protocol']).toLowerCase(),
    },
  };
}
