import { describe, it } from 'node:test';
import { z } from 'zod';
import { bgpNodeStateKind } from '../../lib/api/kinds/bgp-node-state.ts';
import { bgpRoute } from '../../lib/api/kinds/bgp-route-slice.ts';
import { ipKind } from '../../lib/api/kinds/ip.ts';
import { ipPoolKind } from '../../lib/api/kinds/ippool.ts';
import { providerNetworkKind } from '../../lib/api/kinds/provider-network.ts';
import { remoteClusterKind } from '../../lib/api/kinds/remote-cluster.ts';
import { remoteRoute } from '../../lib/api/kinds/remote-route-slice.ts';
import { securityGroupKind } from '../../lib/api/kinds/security-group.ts';
import { subnetKind } from '../../lib/api/kinds/subnet.ts';
import { transitSwitchKind } from '../../lib/api/kinds/transit-switch.ts';
import { vipKind } from '../../lib/api/kinds/vip.ts';
import { vlanKind } from '../../lib/api/kinds/vlan.ts';
import { vpcKind } from '../../lib/api/kinds/vpc.ts';
import { viewParser } from '../../lib/slices/testing.ts';
import { attachmentSchemas, nodeSchemas, podSchemas } from '../../lib/testing-core-schemas.ts';
import { fuzzParser, type ObjectSchemas, type Parser } from '../../lib/testing-fuzz.ts';
import { parseIp, parseIpPool, parseVip } from './addresses.ts';
import { bgpNodeStateView } from './bgp.ts';
import {
  parseSecurityGroup,
  parseServiceCidr,
  parseSubnet,
  parseTransitSwitch,
  parseVpc,
  remoteClusterView,
} from './networks.ts';
import { parseProviderNetwork, parseVlan } from './underlay.ts';
import {
  parseAttachment,
  parseNamespace,
  parseNode,
  parsePod,
  parseStatefulSet,
  parseVirtualMachine,
} from './workloads.ts';

const parsers: Readonly<Record<string, readonly [Parser, ObjectSchemas]>> = {
  Vpc: [parseVpc, vpcKind],
  Subnet: [parseSubnet, subnetKind],
  SecurityGroup: [parseSecurityGroup, securityGroupKind],
  TransitSwitch: [parseTransitSwitch, transitSwitchKind],
  RemoteCluster: [viewParser(remoteClusterView), { ...remoteClusterKind, routes: z.array(remoteRoute) }],
  IP: [parseIp, ipKind],
  IPPool: [parseIpPool, ipPoolKind],
  Vip: [parseVip, vipKind],
  ProviderNetwork: [parseProviderNetwork, providerNetworkKind],
  Vlan: [parseVlan, vlanKind],
  BgpNodeState: [viewParser(bgpNodeStateView), { ...bgpNodeStateKind, routes: z.array(bgpRoute) }],
  Pod: [parsePod, podSchemas],
  Node: [parseNode, nodeSchemas],
  Namespace: [parseNamespace, {}],
  StatefulSet: [
    parseStatefulSet,
    { spec: z.object({ replicas: z.int().optional(), ordinals: z.object({ start: z.int() }).optional() }) },
  ],
  VirtualMachineInstance: [parseVirtualMachine, {}],
  NetworkAttachmentDefinition: [parseAttachment, attachmentSchemas],
  ServiceCIDR: [parseServiceCidr, { spec: z.object({ cidrs: z.array(z.string()) }) }],
};

describe('parsers take whatever an object holds', () => {
  for (const [kind, [parse, schemas]] of Object.entries(parsers)) it(kind, () => fuzzParser(parse, schemas));
});
