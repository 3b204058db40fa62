/** The edge, addresses outside of the cluster: OvnEips, and the rules of VPCs that use them. */
import { annotation, externalSubnet } from '../../lib/api/names.ts';
import { type Fields, fieldsOf, textOf } from '../../lib/kube/fields.ts';
import type { RawObject } from '../../lib/kube/types.ts';
import type {
  ExternalConfig,
  InsideSpec,
  OvnDnatRule,
  OvnEip,
  OvnFip,
  OvnSnatRule,
  RouterLbRule,
} from '../model/external-objects.ts';
import { parseRuleObject } from '../../lib/services/switch-lb-rule.ts';
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
      qosPolicy: '',
    },
    unsupported: [],
  };
}

const enableKey = 'enable-external-gw';
/** The Subnet outside. */
const switchKey = 'external-gw-switch';
const configTypes = ['centralized', 'distributed'] as const;
/** The interface of nodes is that of the ProviderNetwork. */
const configKeys = ['type', 'external-gw-nodes', 'external-gw-nic', 'external-gw-addr', 'nic-ip', 'nic-mac'];
/** As far as a value is read and shown: that of a status has a limit. */
const longestValue = 253;

/** Kube-OVN takes addresses with a prefix length, and those of two families in one text. */
function addressesIn(text: string): readonly string[] {
  return text.split(',').flatMap((one) => one.trim().replace(/\/\d+$/, '') || []);
}

export function parseExternalConfig(raw: RawObject): ExternalConfig {
  const data = fieldsOf(raw['data']);
  const of = (key: string): string => textOf(data[key]).trim().slice(0, longestValue);
  const [enable, type, subnet] = [of(enableKey), of('type'), of(switchKey)];
  const known = [enableKey, switchKey, ...configKeys];
  const unknown = Object.keys(data).filter((key) => !known.includes(key));
  return {
    isEnabled: enable === 'true',
    type: configTypes.find((one) => one === type) ?? 'centralized',
    nodes: new Set(
      textOf(data['external-gw-nodes'])
        .split(',')
        .flatMap((name) => name.trim() || []),
    ),
    gateways: addressesIn(of('external-gw-addr')),
    ips: addressesIn(of('nic-ip')),
    mac: of('nic-mac').toLowerCase(),
    unread: [
      ...(['', 'true', 'false'].includes(enable) ? [] : [`${enableKey}: ${enable}`]),
      ...(type === '' || configTypes.some((one) => one === type) ? [] : [`type: ${type}`]),
      ...(['', externalSubnet].includes(subnet) ? [] : [`${switchKey}: ${subnet}`]),
      ...unknown.sort(),
    ],
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

export function parseRouterLbRule(raw: RawObject): RouterLbRule {
  const rule = parseRuleObject(raw, 'RouterLBRule');
  const spec = fieldsOf(raw['spec']);
  return {
    ...apiFactsOf(raw),
    ...rule,
    spec: { ...rule.spec, eip: textOf(spec['ovnEip']), vpc: textOf(spec['vpc']) },
  };
}
