// The addresses and networks of this node and its cluster that no learned route may cover, from the speaker's state. The rule is in
// lib/bgp/lifelines.
import { defaultVpc } from '../../lib/api/names.ts';
import { Lifelines } from '../../lib/bgp/lifelines.ts';
import { apiService } from '../../lib/bgp/parse/service.ts';
import type { NodeFacts, SpeakerState } from '../model/objects.ts';
import type { SpeakerPlan } from './plan.ts';

export function planLifelines(state: SpeakerState, { peers }: Pick<SpeakerPlan, 'peers'>, facts: NodeFacts): Lifelines {
  // Lifelines are needed only if a peer imports prefixes.
  if (![...peers.values()].some((peer) => peer.import !== undefined)) return new Lifelines({});
  const { subnets, remotes, transitSwitches, nodes, eips } = state;
  const remote = [...remotes.values()];
  return new Lifelines({
    subnets: [...subnets.values()].filter(({ vpc }) => vpc === defaultVpc),
    transitSwitches: [...transitSwitches].map(([name, network]) => ({ name, ...network })),
    clusters: remote.map(({ name, owned = [] }) => ({ name, prefixes: owned })),
    gateways: remote.map(({ name, gateways = [] }) => ({ name, prefixes: gateways })),
    nodes: [...nodes.values()].map(({ name, addresses }) => ({ name, prefixes: addresses })),
    eips: [...eips.values()]
      .filter(({ isReady }) => isReady)
      .map(({ kind, name, ips }) => ({ name: `${kind} ${name}`, prefixes: ips })),
    services: servicesOf(state),
    apiServers: [
      ...facts.apiServers,
      ...[...(state.slices.get(apiService)?.values() ?? [])].flatMap(({ apiServers = [] }) => apiServers),
    ],
    hubs: [...state.hubs.values()],
    peers: [...peers.values()].map(({ name, address, sourceAddress }) => ({
      name,
      prefixes: [address, ...(sourceAddress === undefined ? [] : [sourceAddress])],
    })),
    ...facts.network,
  });
}

/** Cluster IPs are within the Service CIDRs, if these are known. */
function servicesOf({ services, serviceCidrs }: SpeakerState): readonly string[] {
  const cidrs = [...serviceCidrs.values()].flat();
  const addresses = [...services.values()].flatMap(({ clusterIps, externalIps, loadBalancerIps }) => [
    ...(cidrs.length === 0 ? clusterIps : []),
    ...externalIps,
    ...loadBalancerIps,
  ]);
  return [...cidrs, ...addresses];
}
