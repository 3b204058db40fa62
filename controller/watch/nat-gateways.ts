/** The edge, VpcNatGateways, IptablesEIPs and their rules: the same values as of OvnEips and theirs. */
import { isSelector } from '../../lib/api/label-selector.ts';
import type { LabelSelector } from '../../lib/api/kinds/shared.ts';
import { defaultVpc, natGatewaySubnet } from '../../lib/api/names.ts';
import { type Fields, fieldsOf, numberOf, recordsOf, textOf, textsOf } from '../../lib/kube/fields.ts';
import type { RawObject } from '../../lib/kube/types.ts';
import { iptablesEipId } from '../model/external-objects.ts';
import type {
  InsideSpec,
  OvnDnatRule,
  OvnEip,
  OvnFip,
  OvnSnatRule,
  QosPolicy,
  QosRule,
  VpcNatGateway,
} from '../model/external-objects.ts';
import { apiFactsOf, namesSet } from './fields.ts';

/** What a pod could do and a router cannot, by field, and what to do instead. */
const unserved: Readonly<Record<string, string>> = {
  annotations: 'there is no pod: remove them',
  internalSubnets: 'the rules of the gateway say whose packets leave by it: make an IptablesSnatRule for each of them',
  internalCIDRs: 'the rules of the gateway say whose packets leave by it: make an IptablesSnatRule for each of them',
};

/** The next hop for routes to the VPC itself. */
const insideHop = 'gateway';

/** Nothing has the label: a selector without its invalid part would select too much. */
const nothing: LabelSelector = { matchExpressions: [{ key: '', operator: 'In', values: [] }] };

/** `key:value` each, all of which a node must have. */
function labelsOf(items: readonly string[]): LabelSelector['matchLabels'] {
  return Object.fromEntries(
    items.map((item) => {
      const colon = item.indexOf(':');
      return colon < 0 ? [item.trim(), ''] : [item.slice(0, colon).trim(), item.slice(colon + 1).trim()];
    }),
  );
}

interface Affinity {
  /** Nodes that match one of them; none if nothing is required. */
  readonly terms: readonly LabelSelector[];
  readonly unserved: readonly string[];
}

function affinityOf(affinity: Fields): Affinity {
  const node = fieldsOf(affinity['nodeAffinity']);
  const required = fieldsOf(node['requiredDuringSchedulingIgnoredDuringExecution']);
  const terms = recordsOf(required['nodeSelectorTerms']);
  const others = [
    ...namesSet(affinity, ['podAffinity', 'podAntiAffinity']).map((name) => `spec.affinity.${name}`),
    ...namesSet(node, ['preferredDuringSchedulingIgnoredDuringExecution']).map(
      (name) => `spec.affinity.nodeAffinity.${name}`,
    ),
  ];
  const read = terms.map(({ matchExpressions = [], matchFields }): LabelSelector => {
    const selector = { matchExpressions };
    const isEmpty = !Array.isArray(matchExpressions) || matchExpressions.length === 0;
    // A term without anything matches no node, as for pods.
    return matchFields === undefined && !isEmpty && isSelector(selector) ? selector : nothing;
  });
  const isBad = terms.some(
    ({ matchExpressions, matchFields }) => matchFields !== undefined || !isSelector({ matchExpressions }),
  );
  const bad = isBad
    ? ['spec.affinity.nodeAffinity: matchFields and the operators Gt and Lt, whose terms match no node']
    : [];
  return { terms: read, unserved: [...others.map((name) => `${name}: name nodes in spec.selector`), ...bad] };
}

export function parseVpcNatGateway(raw: RawObject): VpcNatGateway {
  const spec = fieldsOf(raw['spec']);
  const external = textsOf(spec['externalSubnets']).filter((name) => name !== '');
  const labels = textsOf(spec['selector']).filter((item) => item !== '');
  const { terms, unserved: affinity } = affinityOf(fieldsOf(spec['affinity']));
  const matchLabels = labelsOf(labels);
  const selectors = terms.length === 0 ? [{}] : terms;
  const lanIp = textOf(spec['lanIp']);
  return {
    ...apiFactsOf(raw),
    labels: raw.metadata.labels ?? {},
    spec: {
      vpc: textOf(spec['vpc']) || defaultVpc,
      subnet: textOf(spec['subnet']),
      lanIp,
      externalSubnets: external.length === 0 ? [natGatewaySubnet] : [...new Set(external)],
      nodeSelectors:
        labels.length === 0 && terms.length === 0 ? [] : selectors.map((term) => ({ ...term, matchLabels })),
      qosPolicy: textOf(spec['qosPolicy']),
    },
    unsupported: [
      ...namesSet(spec, Object.keys(unserved)).map((name) => `spec.${name}: ${unserved[name] ?? ''}`),
      ...affinity,
      ...(fieldsOf(spec['bgpSpeaker'])['enabled'] === true
        ? ['spec.bgpSpeaker: make a BgpPeer, and a BgpAdvertisement with the source Eip']
        : []),
      ...recordsOf(spec['routes']).flatMap(({ nextHopIP }, index) =>
        textOf(nextHopIP) === insideHop
          ? []
          : [`spec.routes[${index}]: write it into spec.staticRoutes of the Vpc, whose router is the gateway`],
      ),
    ],
  };
}

export function parseIptablesEip(raw: RawObject): OvnEip {
  const spec = fieldsOf(raw['spec']);
  return {
    ...apiFactsOf(raw),
    id: iptablesEipId(raw.metadata.name),
    labels: raw.metadata.labels ?? {},
    spec: {
      externalSubnet: textOf(spec['externalSubnet']) || natGatewaySubnet,
      v4Ip: textOf(spec['v4ip']),
      v6Ip: '',
      // It was that of an interface of the pod.
      macAddress: '',
      type: '',
      natGateway: textOf(spec['natGwDp']),
      qosPolicy: textOf(spec['qosPolicy']),
    },
    unsupported:
      textOf(spec['v6ip']) === ''
        ? []
        : ['spec.v6ip: the kinds of a VpcNatGateway have IPv4 addresses; make an OvnEip for IPv6'],
  };
}

function insideOf(spec: Fields): InsideSpec {
  const internalIp = textOf(spec['internalIp']);
  return {
    eip: iptablesEipId(textOf(spec['eip'])),
    ipType: '',
    ipName: '',
    vpc: '',
    v4Ip: internalIp,
    v6Ip: '',
  };
}

export function parseIptablesFipRule(raw: RawObject): OvnFip {
  return { ...apiFactsOf(raw), spec: { ...insideOf(fieldsOf(raw['spec'])), type: 'centralized' } };
}

export function parseIptablesSnatRule(raw: RawObject): OvnSnatRule {
  const spec = fieldsOf(raw['spec']);
  return {
    ...apiFactsOf(raw),
    spec: {
      eip: iptablesEipId(textOf(spec['eip'])),
      vpcSubnet: '',
      ipName: '',
      vpc: '',
      v4IpCidr: textOf(spec['internalCIDR']),
      v6IpCidr: '',
    },
  };
}

export function parseIptablesDnatRule(raw: RawObject): OvnDnatRule {
  const spec = fieldsOf(raw['spec']);
  return {
    ...apiFactsOf(raw),
    isFormer: false,
    isShared: textOf(spec['type']) === 'share',
    spec: {
      ...insideOf(spec),
      internalPort: textOf(spec['internalPort']),
      externalPort: textOf(spec['externalPort']),
      protocol: textOf(spec['protocol']).toLowerCase(),
    },
  };
}

function parseQosRules(value: unknown): readonly QosRule[] {
  return recordsOf(value).map((rule) => ({
    name: textOf(rule['name']),
    interface: textOf(rule['interface']),
    rateMax: textOf(rule['rateMax']),
    burstMax: textOf(rule['burstMax']),
    priority: numberOf(rule['priority']),
    direction: textOf(rule['direction']),
    matchType: textOf(rule['matchType']),
    matchValue: textOf(rule['matchValue']),
  }));
}

export function parseQosPolicy(raw: RawObject): QosPolicy {
  const [spec, status] = [fieldsOf(raw['spec']), fieldsOf(raw['status'])];
  return {
    ...apiFactsOf(raw),
    spec: {
      bindingType: textOf(spec['bindingType']),
      isShared: spec['shared'] === true,
      rules: parseQosRules(spec['bandwidthLimitRules']),
    },
    shownRules: parseQosRules(status['bandwidthLimitRules']),
  };
}
