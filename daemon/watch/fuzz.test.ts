import { describe, it } from 'node:test';
import { z } from 'zod';
import { bgpNodeStateKind } from '../../lib/api/kinds/bgp-node-state.ts';
import { bgpRoute } from '../../lib/api/kinds/bgp-route-slice.ts';
import { interconnectGatewayKind } from '../../lib/api/kinds/interconnect-gateway.ts';
import { interconnectKind } from '../../lib/api/kinds/interconnect.ts';
import { providerNetworkKind } from '../../lib/api/kinds/provider-network.ts';
import { remoteClusterKind } from '../../lib/api/kinds/remote-cluster.ts';
import { remoteRoute } from '../../lib/api/kinds/remote-route-slice.ts';
import { subnetKind } from '../../lib/api/kinds/subnet.ts';
import { transitSwitchKind } from '../../lib/api/kinds/transit-switch.ts';
import { viewParser } from '../../lib/slices/testing.ts';
import { nodeSchemas, podSchemas } from '../../lib/testing-core-schemas.ts';
import { fuzzParser, type ObjectSchemas, type Parser } from '../../lib/testing-fuzz.ts';
import { bgpNodeStateView } from './bgp-node-state.ts';
import { parseGateway, parseInterconnect, parseTransitSwitch } from './gateway.ts';
import { parseNode } from './node.ts';
import { parsePod } from './pod.ts';
import { parseProviderNetwork } from './provider-network.ts';
import { remoteClusterView } from './remote-cluster.ts';
import { parseServiceCidr } from './services.ts';
import { parseSubnet } from './subnet.ts';

const parsers: readonly (readonly [Parser, ObjectSchemas])[] = [
  [parsePod, podSchemas],
  [parseNode, nodeSchemas],
  [parseSubnet, subnetKind],
  [parseProviderNetwork, providerNetworkKind],
  [parseGateway, interconnectGatewayKind],
  [parseInterconnect, interconnectKind],
  [parseTransitSwitch, transitSwitchKind],
  [parseServiceCidr, { spec: z.object({ cidrs: z.array(z.string()) }) }],
];

describe('parsers accept any content of an object', () => {
  for (const [parse, schemas] of parsers) it(parse.name, () => fuzzParser(parse, schemas));
  it('RemoteCluster', () =>
    fuzzParser(viewParser(remoteClusterView), { ...remoteClusterKind, routes: z.array(remoteRoute) }));
  it('BgpNodeState', () =>
    fuzzParser(viewParser(bgpNodeStateView), { ...bgpNodeStateKind, routes: z.array(bgpRoute) }));
});
