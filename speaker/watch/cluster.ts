// The way in: reflectors mirror the five kinds a speaker depends on, and `state` is their sum at this moment. main.ts subscribes once and
// plans anew; nothing here decides anything.
import { setTimeout as sleep } from 'node:timers/promises';
import { bgpAdvertisements, bgpInstances, bgpPeers, nodes, secrets, subnets } from '../../lib/kube/resources.ts';
import { reflect } from '../../lib/kube/reflector.ts';
import type { KubeClient, RawObject, Reflector, Resource } from '../../lib/kube/types.ts';
import type { Logger } from '../../lib/run/logger.ts';
import type { SpeakerState } from '../state/objects.ts';
import { parseBgpAdvertisement, parseBgpInstance, parseBgpPeer } from './bgp.ts';
import { parseNode } from './node.ts';
import { parseSecret } from './secret.ts';
import { parseSubnet } from './subnet.ts';

export interface Cluster {
  /** Resolves when all kinds were read once. */
  readonly synced: Promise<unknown>;
  state(): SpeakerState;
  stop(): Promise<void>;
}

export interface ClusterOptions {
  readonly client: KubeClient;
  /** This one. */
  readonly node: string;
  /** Where the Secrets with passwords are, and their names. */
  readonly passwords: { readonly namespace: string; readonly names: readonly string[] };
  readonly log: Logger;
  readonly signal: AbortSignal;
  /** After every change of any object. */
  readonly onChange: () => void;
}

/** A Secret that may not be read must not keep the node from speaking BGP. */
const secretsMs = 3000;

export function watchCluster({ client, node, passwords, log, signal, onChange }: ClusterOptions): Cluster {
  const mirror = <T>(
    resource: Resource,
    parse: (raw: RawObject) => T,
    selection: { readonly namespace?: string; readonly fieldSelector?: string } = {},
  ): Reflector<T> => {
    const reflector = reflect({ client, resource, parse, signal, log, ...selection });
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
  const { namespace } = passwords;
  const secretMirrors = new Map(
    passwords.names.map((name) => [
      name,
      mirror(secrets, parseSecret, { namespace, fieldSelector: `metadata.name=${name}` }),
    ]),
  );
  const read = new Set<string>();
  const secretsRead = Promise.all(
    [...secretMirrors].map(async ([name, { synced }]) => {
      await synced;
      read.add(name);
      onChange();
    }),
  );
  return {
    synced: Promise.all([
      ...Object.values(kinds).map(({ synced }) => synced),
      Promise.race([secretsRead, sleep(secretsMs, undefined, { signal })]),
    ]),
    state: () => ({
      node,
      nodes: new Map(kinds.nodes.entries()),
      instances: new Map(kinds.instances.entries()),
      peers: new Map(kinds.peers.entries()),
      advertisements: new Map(kinds.advertisements.entries()),
      subnets: new Map(kinds.subnets.entries()),
      secrets: new Map(
        [...secretMirrors].map(([name, mirrored]) => [
          name,
          read.has(name) ? (mirrored.get(`${namespace}/${name}`) ?? 'missing') : 'unread',
        ]),
      ),
    }),
    stop: async () => {
      await Promise.all([...Object.values(kinds), ...secretMirrors.values()].map((reflector) => reflector.stop()));
    },
  };
}
