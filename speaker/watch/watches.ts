/**
 * Watches the kinds that a speaker reads. In: raw objects. Out: `onChange` with the parsed value of each object that was added, changed or
 * deleted, for `state/cluster.ts`.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { bgpRoutes } from '../../lib/slices/bgp-routes.ts';
import type { BgpRoute } from '../../lib/api/kinds/bgp-route-slice.ts';
import { parseIptablesEip, parseOvnEip } from '../../lib/bgp/parse/eip.ts';
import { parseLoadBalancerPool } from '../../lib/bgp/parse/load-balancer-pool.ts';
import { parseNode } from '../../lib/bgp/parse/node.ts';
import { parseNodeState } from '../../lib/bgp/parse/node-state.ts';
import { parseBgpAdvertisement, parseBgpInstance, parseBgpPeer } from '../../lib/bgp/parse/own-kinds.ts';
import { parsePod } from '../../lib/bgp/parse/pod.ts';
import { remoteView } from '../../lib/bgp/parse/remote.ts';
import { parseEndpointSlice, parseService } from '../../lib/bgp/parse/service.ts';
import { parseSubnet } from '../../lib/bgp/parse/subnet.ts';
import { reflect } from '../../lib/kube/reflector.ts';
import {
  bgpAdvertisements,
  bgpInstances,
  bgpNodeStates,
  bgpPeers,
  bgpRouteSlices,
  endpointSlices,
  interconnects,
  iptablesEips,
  loadBalancerPools,
  namespaces,
  nodes,
  ovnEips,
  pods,
  routePolicies,
  secrets,
  serviceCidrs,
  services,
  subnets,
  transitSwitches,
} from '../../lib/kube/resources.ts';
import { parseRoutePolicy } from '../../lib/route-policy/parse.ts';
import type { KubeClient, RawObject, Reflector, Resource } from '../../lib/kube/types.ts';
import type { Logger } from '../../lib/run/logger.ts';
import { reflectSliced } from '../../lib/slices/reflect.ts';
import { parseSlice, selectorOf, type Slice } from '../../lib/slices/slice.ts';
import type { ObjectKind, WatchedObjects } from '../model/objects.ts';
import { parseHubHost, parseServiceCidr, parseTransitNetwork } from './lifelines.ts';
import { parseSecret } from './secret.ts';

export interface WatchOptions {
  readonly client: KubeClient;
  /** Name of this node. */
  readonly node: string;
  /** Namespace and names of the Secrets with passwords. */
  readonly passwords: { readonly namespace: string; readonly names: readonly string[] };
  readonly log: Logger;
  readonly signal: AbortSignal;
  /** Called when a slice of this node was added, changed or deleted. */
  readonly onSlice: (before: Slice<BgpRoute> | undefined, after: Slice<BgpRoute> | undefined) => void;
  readonly onChange: <Kind extends ObjectKind>(
    kind: Kind,
    key: string,
    after: WatchedObjects[Kind] | undefined,
  ) => void;
}

export interface Watches {
  /** Resolves when all kinds were listed once. */
  readonly synced: Promise<unknown>;
  stop(): Promise<void>;
}

/** A Secret that this speaker may not read must not delay all sessions for longer than this. */
const secretsMs = 3000;

interface Selection {
  readonly namespace?: string;
  readonly fieldSelector?: string;
  readonly labelSelector?: string;
  readonly optional?: boolean;
}

export function openWatches({ client, node, passwords, log, signal, onSlice, onChange }: WatchOptions): Watches {
  const reflectors: Reflector<unknown>[] = [];
  const follow = <T>(reflector: Reflector<T>, onEach: (key: string, after: T | undefined) => void): void => {
    reflector.subscribe(({ key, after }) => onEach(key, after));
    reflectors.push(reflector);
  };
  const start = <T>(
    resource: Resource,
    parse: (raw: RawObject) => T,
    onEach: (key: string, after: T | undefined) => void,
    selection: Selection = {},
  ): Reflector<T> => {
    const reflector = reflect({ client, resource, parse, signal, log, ...selection });
    follow(reflector, onEach);
    return reflector;
  };
  const watch = <Kind extends ObjectKind>(
    kind: Kind,
    resource: Resource,
    parse: (raw: RawObject) => WatchedObjects[Kind],
    selection?: Selection,
  ) => start(resource, parse, (key, after) => onChange(kind, key, after), selection);
  const optional = { optional: true };
  watch('nodes', nodes, parseNode);
  watch('namespaces', namespaces, (raw) => raw.metadata.labels ?? {});
  watch('instances', bgpInstances, parseBgpInstance);
  watch('peers', bgpPeers, parseBgpPeer);
  watch('advertisements', bgpAdvertisements, parseBgpAdvertisement);
  watch('subnets', subnets, parseSubnet);
  watch('pods', pods, parsePod);
  watch('services', services, parseService);
  watch('slices', endpointSlices, parseEndpointSlice);
  watch('policies', routePolicies, parseRoutePolicy);
  // Clusters without these kinds are supported.
  follow(reflectSliced(remoteView, { client, signal, log, optional: true }), (key, after) =>
    onChange('remotes', key, after),
  );
  watch('loadBalancerPools', loadBalancerPools, parseLoadBalancerPool, optional);
  watch('transitSwitches', transitSwitches, parseTransitNetwork, optional);
  watch('hubs', interconnects, parseHubHost, optional);
  watch('serviceCidrs', serviceCidrs, parseServiceCidr, optional);
  for (const [kind, resource, parse] of [
    ['OvnEip', ovnEips, parseOvnEip],
    ['IptablesEIP', iptablesEips, parseIptablesEip],
  ] as const)
    start(resource, parse, (name, after) => onChange('eips', `${kind}/${name}`, after), optional);
  const readOwn = (raw: RawObject): WatchedObjects['nodeStates'] => ({
    uid: raw.metadata.uid,
    status: parseNodeState(raw),
    sample: bgpRoutes.sample(raw),
  });
  watch('nodeStates', bgpNodeStates, readOwn, { fieldSelector: `metadata.name=${node}` });
  const ownSlices = start(
    bgpRouteSlices,
    (raw) => parseSlice(bgpRoutes, raw),
    (key, after) => onChange('routeSlices', key, after),
    { labelSelector: selectorOf(bgpRoutes, node) },
  );
  ownSlices.subscribe(({ before, after }) => onSlice(before, after));
  const required = reflectors.map(({ synced }) => synced);

  const secretsRead = passwords.names.map(async (name) => {
    onChange('secrets', name, 'unread');
    const selection = { namespace: passwords.namespace, fieldSelector: `metadata.name=${name}` };
    const reflector = start(
      secrets,
      parseSecret,
      (_, after) => onChange('secrets', name, after ?? 'missing'),
      selection,
    );
    await reflector.synced;
    if ([...reflector.entries()].length === 0) onChange('secrets', name, 'missing');
  });
  return {
    synced: Promise.all([
      ...required,
      Promise.race([Promise.all(secretsRead), sleep(secretsMs, undefined, { signal })]),
    ]),
    stop: async () => {
      await Promise.all(reflectors.map((reflector) => reflector.stop()));
    },
  };
}
