/** The edge, networks: Subnets, Vpcs, SecurityGroups and the networks between clusters. */
import { conditionsOf } from '../../lib/api/conditions.ts';
import type { RemoteRoute as RouteEntry } from '../../lib/api/kinds/remote-route-slice.ts';
import { annotation, defaultVpc } from '../../lib/api/names.ts';
import { remotePrefixes, remoteRoutes } from '../../lib/slices/remote-routes.ts';
import type { RawObject } from '../../lib/kube/types.ts';
import { parseCidr } from '../../lib/net/cidr.ts';
import { learnedOrigin } from '../../lib/route-policy/policy.ts';
import type { SlicedView } from '../../lib/slices/slice.ts';
import type {
  KeySlice,
  RemoteCluster,
  RemoteRoute,
  SecurityGroup,
  SecurityGroupRule,
  ServiceCidr,
  Subnet,
  SubnetSpec,
  TransitSwitch,
  Vpc,
} from '../model/objects.ts';
import { type Fields, fieldsOf, numberOf, recordsOf, textOf, textsOf } from '../../lib/kube/fields.ts';
import { apiFactsOf, factsOf, namesSet, pick, selectorsOf } from './fields.ts';
import { unsupportedSubnetFields, unsupportedVpcFields } from './unsupported.ts';

export function parseSubnet(raw: RawObject): Subnet {
  const spec = fieldsOf(raw['spec']);
  return {
    ...apiFactsOf(raw),
    spec: { ...addressingOf(spec), ...gatewayOf(spec), ...isolationOf(spec), ...servicesOf(spec), ...underlayOf(spec) },
    unsupported: namesSet(spec, unsupportedSubnetFields),
    annotations: pick(raw.metadata.annotations, [annotation.accepted, annotation.eipNamespaces]),
  };
}

type Part<K extends keyof SubnetSpec> = Pick<SubnetSpec, K>;

function addressingOf(
  spec: Fields,
): Part<
  | 'isDefault'
  | 'vpc'
  | 'protocol'
  | 'provider'
  | 'namespaces'
  | 'namespaceSelectors'
  | 'cidrBlock'
  | 'gateway'
  | 'excludeIps'
  | 'vips'
  | 'mtu'
> {
  return {
    isDefault: typeof spec['default'] === 'boolean' ? spec['default'] : undefined,
    vpc: textOf(spec['vpc']),
    protocol: textOf(spec['protocol']),
    provider: textOf(spec['provider']),
    namespaces: textsOf(spec['namespaces']),
    namespaceSelectors: selectorsOf(spec['namespaceSelectors']),
    cidrBlock: textOf(spec['cidrBlock']),
    gateway: textOf(spec['gateway']),
    excludeIps: textsOf(spec['excludeIps']),
    vips: textsOf(spec['vips']),
    mtu: numberOf(spec['mtu']),
  };
}

function gatewayOf(
  spec: Fields,
): Part<
  | 'gatewayType'
  | 'gatewayNode'
  | 'gatewayNodeSelectors'
  | 'enableEcmp'
  | 'natOutgoing'
  | 'natOutgoingPolicyRules'
  | 'externalEgressGateway'
  | 'policyRoutingPriority'
  | 'policyRoutingTableID'
  | 'routeTable'
> {
  return {
    gatewayType: textOf(spec['gatewayType']),
    gatewayNode: textOf(spec['gatewayNode']),
    gatewayNodeSelectors: selectorsOf(spec['gatewayNodeSelectors']),
    enableEcmp: spec['enableEcmp'] === true,
    natOutgoing: spec['natOutgoing'] === true,
    natOutgoingPolicyRules: recordsOf(spec['natOutgoingPolicyRules']).map((rule) => {
      const match = fieldsOf(rule['match']);
      return { srcIPs: textOf(match['srcIPs']), dstIPs: textOf(match['dstIPs']), action: textOf(rule['action']) };
    }),
    externalEgressGateway: textOf(spec['externalEgressGateway']),
    policyRoutingPriority: numberOf(spec['policyRoutingPriority']),
    policyRoutingTableID: numberOf(spec['policyRoutingTableID']),
    routeTable: textOf(spec['routeTable']),
  };
}

function isolationOf(
  spec: Fields,
): Part<'isPrivate' | 'allowSubnets' | 'allowEWTraffic' | 'acls' | 'disableInterConnection'> {
  return {
    isPrivate: spec['private'] === true,
    allowSubnets: textsOf(spec['allowSubnets']),
    allowEWTraffic: spec['allowEWTraffic'] === true,
    acls: recordsOf(spec['acls']).map((acl) => ({
      direction: textOf(acl['direction']),
      priority: numberOf(acl['priority']),
      match: textOf(acl['match']),
      action: textOf(acl['action']),
    })),
    disableInterConnection: spec['disableInterConnection'] === true,
  };
}

function servicesOf(
  spec: Fields,
): Part<
  | 'enableDHCP'
  | 'dhcpV4Options'
  | 'dhcpV6Options'
  | 'enableIPv6RA'
  | 'ipv6RAConfigs'
  | 'enableLb'
  | 'enableMulticastSnoop'
> {
  return {
    enableDHCP: spec['enableDHCP'] === true,
    dhcpV4Options: textOf(spec['dhcpV4Options']),
    dhcpV6Options: textOf(spec['dhcpV6Options']),
    enableIPv6RA: spec['enableIPv6RA'] === true,
    ipv6RAConfigs: textOf(spec['ipv6RAConfigs']),
    enableLb: typeof spec['enableLb'] === 'boolean' ? spec['enableLb'] : undefined,
    enableMulticastSnoop: spec['enableMulticastSnoop'] === true,
  };
}

function underlayOf(
  spec: Fields,
): Part<'vlan' | 'logicalGateway' | 'u2oInterconnection' | 'u2oInterconnectionIP' | 'overlayOnlyRouting'> {
  return {
    vlan: textOf(spec['vlan']),
    logicalGateway: spec['logicalGateway'] === true,
    u2oInterconnection: spec['u2oInterconnection'] === true,
    u2oInterconnectionIP: textOf(spec['u2oInterconnectionIP']),
    overlayOnlyRouting: fieldsOf(spec['u2oFeatures'])['overlayOnlyRouting'] === true,
  };
}

export function parseVpc(raw: RawObject): Vpc {
  const spec = fieldsOf(raw['spec']);
  // A block that is present but disabled requests nothing.
  const isBfdOff = fieldsOf(spec['bfdPort'])['enabled'] !== true;
  return {
    ...apiFactsOf(raw),
    unsupported: namesSet(spec, unsupportedVpcFields).filter((name) => name !== 'bfdPort' || !isBfdOff),
    spec: {
      enableExternal: spec['enableExternal'] === true,
      enableBfd: spec['enableBfd'] === true,
      extraExternalSubnets: textsOf(spec['extraExternalSubnets']),
      defaultSubnet: textOf(spec['defaultSubnet']),
      namespaces: textsOf(spec['namespaces']),
      staticRoutes: recordsOf(spec['staticRoutes']).map((route) => ({
        policy: textOf(route['policy']),
        cidr: textOf(route['cidr']),
        nextHopIP: textOf(route['nextHopIP']),
        routeTable: textOf(route['routeTable']),
        ecmpMode: textOf(route['ecmpMode']),
        bfdId: textOf(route['bfdId']),
      })),
      policyRoutes: recordsOf(spec['policyRoutes']).map((route) => ({
        priority: numberOf(route['priority']),
        match: textOf(route['match']),
        action: textOf(route['action']),
        nextHopIP: textOf(route['nextHopIP']),
      })),
      vpcPeerings: recordsOf(spec['vpcPeerings']).map((peering) => ({
        remoteVpc: textOf(peering['remoteVpc']),
        localConnectIP: textOf(peering['localConnectIP']),
      })),
    },
  };
}

function ruleOf(rule: Fields): SecurityGroupRule {
  return {
    ipVersion: textOf(rule['ipVersion']),
    protocol: textOf(rule['protocol']),
    priority: numberOf(rule['priority']),
    remoteType: textOf(rule['remoteType']),
    remoteAddress: textOf(rule['remoteAddress']),
    remoteSecurityGroup: textOf(rule['remoteSecurityGroup']),
    localAddress: textOf(rule['localAddress']),
    portRangeMin: numberOf(rule['portRangeMin']),
    portRangeMax: numberOf(rule['portRangeMax']),
    sourcePortRangeMin: numberOf(rule['sourcePortRangeMin']),
    sourcePortRangeMax: numberOf(rule['sourcePortRangeMax']),
    policy: textOf(rule['policy']),
  };
}

export function parseSecurityGroup(raw: RawObject): SecurityGroup {
  const spec = fieldsOf(raw['spec']);
  return {
    ...apiFactsOf(raw),
    spec: {
      ingressRules: recordsOf(spec['ingressRules']).map(ruleOf),
      egressRules: recordsOf(spec['egressRules']).map(ruleOf),
      allowSameGroupTraffic: spec['allowSameGroupTraffic'] === true,
      tier: numberOf(spec['tier']),
    },
  };
}

export function parseTransitSwitch(raw: RawObject): TransitSwitch {
  const [spec, status] = [fieldsOf(raw['spec']), fieldsOf(raw['status'])];
  // Its addresses belong to an object that existed before: it has no port here, and conflicts with nothing.
  const isRefused = conditionsOf(status).some(({ type, reason }) => type === 'Ready' && reason === 'TransitOverlap');
  const texts = isRefused ? [] : textOf(status['cidr']).split(',');
  const vpc = textOf(status['vpc']) || textOf(spec['vpc']) || defaultVpc;
  const paths = recordsOf(status['paths']).map((path) => textOf(path['switch']));
  return { name: raw.metadata.name, vpc, cidrs: texts.flatMap((text) => parseCidr(text) ?? []), paths };
}

export function parseKeySlice(raw: RawObject): KeySlice {
  return { cidr: parseCidr(textOf(raw['cidr'])) };
}

type RemoteRoutes = Pick<RemoteCluster, 'routes' | 'unlisted'>;

function mergeRemoteRoutes(entries: readonly RouteEntry[]): RemoteRoutes {
  const { listed, unlisted } = remotePrefixes(entries);
  const routes = listed.map(({ cidr, transitSwitch, isActive, origin }): RemoteRoute => ({
    cidr,
    transitSwitch,
    isLearned: origin === learnedOrigin,
    isActive,
  }));
  return { routes, unlisted };
}

export const remoteClusterView: SlicedView<RouteEntry, RemoteRoutes, RemoteCluster> = {
  kind: remoteRoutes,
  merge: mergeRemoteRoutes,
  parse: (raw) => {
    const gateways = recordsOf(fieldsOf(raw['status'])['gateways']).map(({ address }) => textOf(address));
    const facts = factsOf(raw);
    return (routes) => ({ ...facts, ...routes, gateways });
  },
};

export function parseServiceCidr(raw: RawObject): ServiceCidr {
  return { ...factsOf(raw), cidrs: textsOf(fieldsOf(raw['spec'])['cidrs']) };
}
