import { describe, it } from 'node:test';
import { z } from 'zod';
import { bgpNodeStateKind } from '../../lib/api/kinds/bgp-node-state.ts';
import { bgpRoute } from '../../lib/api/kinds/bgp-route-slice.ts';
import { hubMemberKind } from '../../lib/api/kinds/hub-member.ts';
import { interconnectGatewayKind } from '../../lib/api/kinds/interconnect-gateway.ts';
import { interconnectKind } from '../../lib/api/kinds/interconnect.ts';
import { loadBalancerPoolKind } from '../../lib/api/kinds/load-balancer-pool.ts';
import { sharedAddressKind } from '../../lib/api/kinds/shared-address.ts';
import { subnetKind } from '../../lib/api/kinds/subnet.ts';
import { transitSwitchKind } from '../../lib/api/kinds/transit-switch.ts';
import { viewParser } from '../../lib/slices/testing.ts';
import { configMapSchemas, endpointSliceSchemas, nodeSchemas, serviceSchemas } from '../../lib/testing-core-schemas.ts';
import { fuzzParser, type ObjectSchemas, type Parser } from '../../lib/testing-fuzz.ts';
import { parseHubMember } from '../hub/watch/members.ts';
import { learnedView } from './edges.ts';
import {
  parseGateway,
  parseInterconnect,
  parseNode,
  parseReport,
  parseServiceCidr,
  parseSubnet,
  parseTransitSwitch,
} from './objects.ts';
import { parseFollowing, parseOvnIcConfig } from './ovn-ic-config.ts';
import {
  parseGlobalService,
  parseLocalService,
  parseLocalSlice,
  parseServiceExport,
  parseSharedAddress,
  parseSharedPool,
} from './service-objects.ts';

const conditions = z.array(z.object({ type: z.string(), status: z.string(), reason: z.string() }));
const exportSchemas = {
  spec: z.object({ exportedLabels: z.record(z.string(), z.string()) }),
  status: z.object({ conditions }),
};

const parsers: readonly (readonly [Parser, ObjectSchemas])[] = [
  [parseInterconnect, interconnectKind],
  [parseFollowing, interconnectKind],
  [parseSubnet, subnetKind],
  [parseNode, nodeSchemas],
  [parseServiceCidr, { spec: z.object({ cidrs: z.array(z.string()) }) }],
  [parseReport, interconnectGatewayKind],
  [parseGateway, interconnectGatewayKind],
  [parseTransitSwitch, transitSwitchKind],
  [parseHubMember, hubMemberKind],
  [parseOvnIcConfig, configMapSchemas],
  [parseServiceExport, exportSchemas],
  [parseGlobalService, serviceSchemas],
  [parseLocalService, serviceSchemas],
  [parseLocalSlice, endpointSliceSchemas],
  [parseSharedPool, loadBalancerPoolKind],
  [parseSharedAddress, sharedAddressKind],
];

describe('parsers accept any content of an object', () => {
  for (const [parse, schemas] of parsers) it(parse.name, () => fuzzParser(parse, schemas));
  it('BgpNodeState', () => fuzzParser(viewParser(learnedView), { ...bgpNodeStateKind, routes: z.array(bgpRoute) }));
});
