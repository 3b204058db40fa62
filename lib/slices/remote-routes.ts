/**
 * The prefixes of other clusters as programs read them: the controller for overlaps, daemons for forwarding, speakers for
 * announcements. In: RemoteClusters with their RemoteRouteSlices. Out: each prefix once, and the networks that hold prefixes for
 * which there was no room. Pure.
 */
import { z } from 'zod';
import { readAs } from '../api/read-as.ts';
import { remoteClusters, remoteRouteSlices } from '../kube/resources.ts';
import type { RawObject } from '../kube/types.ts';
import { formatCidr, parseCidr, type Cidr } from '../net/cidr.ts';
import type { SlicedKind } from './slice.ts';
import { unlistedPrefixes } from '../api/kinds/remote-cluster.ts';
import { remoteRoute, type RemoteRoute } from '../api/kinds/remote-route-slice.ts';
import { mostRoutesInSlice } from '../api/kinds/route-slice.ts';
import { label } from '../api/names.ts';
import { readEach } from './read-each.ts';

export interface RemotePrefix {
  readonly cidr: Cidr;
  readonly transitSwitch: string;
  /** Packets go there now. */
  readonly isActive: boolean;
  readonly origin: string;
  readonly tags: readonly string[];
}

/** A network in which a cluster has prefixes that are not listed: any part of it may be one of them. */
export interface UnlistedNetwork {
  readonly cidr: Cidr;
  readonly transitSwitch: string;
}

export interface RemotePrefixes {
  /** Those that are not rejected. */
  readonly listed: readonly RemotePrefix[];
  readonly unlisted: readonly UnlistedNetwork[];
}

const entries = z.array(z.unknown()).optional().catch(undefined);
const list = z.looseObject({ routes: entries });
const status = z.looseObject({ routes: entries, unlisted: entries });

export const remoteRoutes: SlicedKind<RemoteRoute> = {
  owners: remoteClusters,
  slices: remoteRouteSlices,
  label: label.remoteCluster,
  mostEntries: mostRoutesInSlice,
  parse: (raw) => readEach(readAs(list, raw).data?.routes, remoteRoute),
  sample,
  // A network that holds unlisted prefixes may be a prefix itself.
  keyOf: ({ prefix, transitSwitch, state }) => `${prefix} ${transitSwitch}${state === 'Unlisted' ? ' +' : ''}`,
};

/** One entry for each next hop. */
function sample(owner: RawObject): readonly RemoteRoute[] {
  const { routes, unlisted } = readAs(status, owner['status']).data ?? {};
  const networks = readEach(unlisted, unlistedPrefixes).flatMap(({ transitSwitch, within }) =>
    within.map((prefix) => ({ prefix, transitSwitch, state: 'Unlisted' as const })),
  );
  return [...readEach(routes, remoteRoute), ...networks];
}

/** A prefix that two entries have is Active where one of them is: they are next hops, or slices that are being rewritten. */
export function remotePrefixes(routes: readonly RemoteRoute[]): RemotePrefixes {
  const listed = new Map<string, RemotePrefix>();
  const unlisted: UnlistedNetwork[] = [];
  for (const { prefix, transitSwitch, state, origin = '', tags = [] } of routes) {
    const cidr = parseCidr(prefix);
    if (cidr === undefined || state === 'Rejected') continue;
    if (state === 'Unlisted') {
      unlisted.push({ cidr, transitSwitch });
      continue;
    }
    const key = `${transitSwitch} ${formatCidr(cidr)}`;
    const isActive = state === 'Active' || listed.get(key)?.isActive === true;
    listed.set(key, { cidr, transitSwitch, isActive, origin, tags });
  }
  return { listed: [...listed.values()], unlisted };
}
