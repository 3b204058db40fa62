import { describe, it } from 'node:test';
import { z } from 'zod';
import { bgpAdvertisementKind } from '../../api/kinds/bgp-advertisement.ts';
import { bgpInstanceKind } from '../../api/kinds/bgp-instance.ts';
import { bgpNodeStateKind } from '../../api/kinds/bgp-node-state.ts';
import { bgpPeerKind } from '../../api/kinds/bgp-peer.ts';
import { loadBalancerPoolKind } from '../../api/kinds/load-balancer-pool.ts';
import { remoteClusterKind } from '../../api/kinds/remote-cluster.ts';
import { remoteRoute } from '../../api/kinds/remote-route-slice.ts';
import { routePolicyKind } from '../../api/kinds/route-policy.ts';
import { subnetKind } from '../../api/kinds/subnet.ts';
import { parseRoutePolicy } from '../../route-policy/parse.ts';
import { viewParser } from '../../slices/testing.ts';
import {
  eipSchemas,
  endpointSliceSchemas,
  nodeSchemas,
  podSchemas,
  serviceSchemas,
} from '../../testing-core-schemas.ts';
import { fuzzParser, type ObjectSchemas, type Parser } from '../../testing-fuzz.ts';
import { parseIptablesEip, parseOvnEip } from './eip.ts';
import { parseLoadBalancerPool } from './load-balancer-pool.ts';
import { parseNode } from './node.ts';
import { parseNodeState } from './node-state.ts';
import { parseBgpAdvertisement, parseBgpInstance, parseBgpPeer } from './own-kinds.ts';
import { parsePod } from './pod.ts';
import { remoteView } from './remote.ts';
import { parseEndpointSlice, parseService } from './service.ts';
import { parseSubnet } from './subnet.ts';

const parsers: readonly (readonly [Parser, ObjectSchemas])[] = [
  [parseBgpInstance, bgpInstanceKind],
  [parseBgpPeer, bgpPeerKind],
  [parseBgpAdvertisement, bgpAdvertisementKind],
  [parseRoutePolicy, routePolicyKind],
  [parseNodeState, bgpNodeStateKind],
  [parseSubnet, subnetKind],
  [parseLoadBalancerPool, loadBalancerPoolKind],
  [parsePod, podSchemas],
  [parseNode, nodeSchemas],
  [parseService, serviceSchemas],
  [parseEndpointSlice, endpointSliceSchemas],
  [parseOvnEip, eipSchemas],
  [parseIptablesEip, eipSchemas],
];

describe('parsers accept any content of an object', () => {
  for (const [parse, schemas] of parsers) it(parse.name, () => fuzzParser(parse, schemas));
  it('RemoteCluster', () => fuzzParser(viewParser(remoteView), { ...remoteClusterKind, routes: z.array(remoteRoute) }));
});
