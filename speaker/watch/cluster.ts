// The way in: reflectors mirror the five kinds a speaker depends on, and `state` is their sum at this moment. main.ts subscribes once and
// plans anew; nothing here decides anything.
import { bgpAdvertisements, bgpInstances, bgpPeers, nodes, subnets } from '../../lib/kube/resources.ts';
import { reflect } from '../../lib/kube/reflector.ts';
import type { KubeClient, RawObject, Reflector, Resource } from '../../lib/kube/types.ts';
import type { Logger } from '../../lib/run/logger.ts';
import type { SpeakerState } from '../state/objects.ts';
import { parseBgpAdvertisement, parseBgpInstance, parseBgpPeer } from './bgp.ts';
import { parseNode } from './node.ts';
import { parseSubnet } from './subnet.ts';

export interface Cluster {
  /** Resolves when all kinds were read once. */
  readonly synced: Promise<unknown>;
  state(): SpeakerState;
  stop(): Promise<void>;
}

/** @param onChange after every change of any object */
export function watchCluster(
  client: KubeClient,
  node: string,
  log: Logger,
  signal: AbortSignal,
  onChange: () => void,
): Cluster {
  const mirror = <T>(resource: Resource, parse: (raw: RawObject) => T): Reflector<T> => {
    const reflector = reflect({ client, resource, parse, signal, log });
    reflector.subscribe(onChange);
    return reflector;
  };
  const kinds = {
    nodes: mirror(nodes, parseNode),
    instances: mirror(bgpInstances, parseBgpInstance),
    peers: mirror(bgpPeers, parseBgpPeer),
    advertisements: mirror(bgpAdvertisements, parseBgpAdvertisement),
    subnets: mirror(subnets, parseSubnet),
  };
  return {
    synced: Promise.all(Object.values(kinds).map(({ synced }) => synced)),
    state: () => ({
      node,
      nodes: new Map(kinds.nodes.entries()),
      instances: new Map(kinds.instances.entries()),
      peers: new Map(kinds.peers.entries()),
      advertisements: new Map(kinds.advertisements.entries()),
      subnets: new Map(kinds.subnets.entries()),
    }),
    stop: async () => {
      await Promise.all(Object.values(kinds).map((reflector) => reflector.stop()));
    },
  };
}
