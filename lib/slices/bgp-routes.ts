/**
 * Routes that nodes learned from their routers, for programs: the controller and the interconnect read them for the VPC, the daemon
 * for the node, the speaker to restore its state after a restart. In: BgpNodeStates with their BgpRouteSlices. Pure.
 */
import { z } from 'zod';
import { readAs } from '../api/read-as.ts';
import { bgpNodeStates, bgpRouteSlices } from '../kube/resources.ts';
import type { SlicedKind } from './slice.ts';
import { bgpRoute, type BgpRoute } from '../api/kinds/bgp-route-slice.ts';
import { mostRoutesInSlice } from '../api/kinds/route-slice.ts';
import { label } from '../api/names.ts';
import { readEach } from './read-each.ts';

const list = z.looseObject({ routes: z.array(z.unknown()).optional().catch(undefined) });
const status = z.looseObject({ learned: z.array(z.unknown()).optional().catch(undefined) });

export const bgpRoutes: SlicedKind<BgpRoute> = {
  owners: bgpNodeStates,
  slices: bgpRouteSlices,
  label: label.bgpNodeState,
  mostEntries: mostRoutesInSlice,
  parse: (raw) => readEach(readAs(list, raw).data?.routes, bgpRoute),
  sample: (raw) => readEach(readAs(status, raw['status']).data?.learned, bgpRoute),
  keyOf: ({ prefix, peer }) => `${prefix} ${peer}`,
};
