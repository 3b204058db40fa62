/**
 * The stages of a round of this cluster: `observe` settles its own part and plans its state for the hub, `apply` settles the
 * other clusters and writes the databases. Called by `Lifecycle`; makes no decisions of its own.
 */
import type { InterconnectSpec } from '../../lib/api/kinds/interconnect.ts';
import { cidrContains, parseCidr } from '../../lib/net/cidr.ts';
import { parseIp } from '../../lib/net/ip.ts';
import type { LinkState } from '../model/link-state.ts';
import type { KeySlice } from '../model/key-slice.ts';
import type { LocalView } from '../model/local.ts';
import type { MemberState } from '../model/messages.ts';
import type { AcceptedKey, EncryptionWish, Gateway } from '../model/messages.ts';
import { encryptedMtuOf } from '../model/path-mtu.ts';
import { planKeySlices } from '../plan/key-slices.ts';
import { acceptedKeys } from '../settle/key-acceptance.ts';
import { memberState, ownGateways, publishedGateways } from '../plan/member-state.ts';
import { OwnEncryption, wishOf } from '../settle/encryption.ts';
import type { OwnCluster } from '../settle/own-cluster.ts';
import { neverReached } from '../settle/never-reached.ts';
import type { NetworkInput, RemoteClusters } from '../settle/remote-clusters.ts';
import type { Clusters } from '../state/clusters.ts';
import type { ClusterReader } from '../watch/cluster-reader.ts';
import type { Network } from './network.ts';
import type { Pods } from './pods.ts';
import type { Services } from './services.ts';

export interface MemberOptions {
  readonly reader: ClusterReader;
  readonly clusters: Clusters;
  readonly cluster: OwnCluster;
  readonly remotes: RemoteClusters;
  readonly network: Network;
  readonly services: Services;
  readonly pods: Pods;
  /** Unix milliseconds. */
  readonly now: () => number;
}

export class Member {
  readonly #options: MemberOptions;
  readonly #encryption = new OwnEncryption();
  #isConnected = false;

  constructor(options: MemberOptions) {
    this.#options = options;
  }

  get encryption(): Pick<OwnEncryption, 'facts' | 'isWanted'> {
    return this.#encryption;
  }

  /** What daemons need to know of WireGuard, by name of the slice; undefined as long as the hub has not answered. */
  get keySlices(): ReadonlyMap<string, KeySlice> | undefined {
    const { reader, clusters } = this.#options;
    const { hub } = clusters;
    if (reader.own === undefined || !hub.isComplete) return undefined;
    if (!this.#encryption.isWanted) return new Map();
    const { local } = reader.own;
    const addressed = this.#ownGateways(local).filter(({ chassis }) => hub.tunnels.addresses[chassis] !== undefined);
    return planKeySlices({
      cluster: local.cluster,
      facts: this.#encryption.facts,
      own: addressed,
      members: hub.members.values(),
      acceptances: hub.tunnels.acceptances,
      isConnected: this.#isConnected,
    });
  }

  /** Reads and settles this cluster; returns its state for the hub. */
  observe(spec: InterconnectSpec, link: Pick<LinkState, 'isConnected' | 'cluster'>): Omit<MemberState, 'revision'> {
    const { reader, clusters, cluster, remotes, services, pods, now } = this.#options;
    const { hub } = clusters;
    this.#isConnected = link.isConnected;
    // The name that the hub knows counts, not the one of the spec.
    const own = reader.read(spec, link.cluster ?? spec.clusterName, hub);
    const { local } = own;
    const databases = reader.databases(local, hub);
    const time = { nowMs: now(), holdDownMs: holdDownMsOf(spec) };
    services.observe(local, spec);
    cluster.settleOwn({ ...own, ...time, hub, isConnected: link.isConnected, databases });
    const state = memberState({
      local,
      endsOf: (network) => cluster.endsOf(network),
      heldOf: (network) => databases.portsHeldOn(network),
      prefixesOf: (request) => cluster.exports.on(request.name),
      gateways: this.#published(local),
      ...this.#keys(),
      encryption: this.#wishOf(spec),
      acceptedKeys: this.#acceptedKeys(spec, local),
      unreachable: [...remotes.view.unreachable, ...neverReached(hub, () => databases.carriedAtStart())],
    });
    pods.observe(spec, local, state);
    return state;
  }

  /** Call after the state that `observe` returned as `revision` was sent to the hub. */
  announced(revision: number): void {
    this.#options.cluster.announced(revision);
  }

  /** Settles the networks and the other clusters, and writes them to the databases. Returns the clusters whose state has changed. */
  apply(): ReadonlySet<string> {
    const { reader, clusters, cluster, remotes, network, services, pods, now } = this.#options;
    const { hub, tunnels } = clusters;
    if (reader.own === undefined) return new Set();
    const { spec, local, policies, edges } = reader.own;
    const databases = reader.databases(local, hub);
    const areAllDirty = cluster.settleNetworks(local, hub, databases);
    const dirty = clusters.takeDirty();
    const published = this.#published(local);
    const encryption = this.#encryption.settle({
      wish: this.#wishOf(spec),
      members: hub.members.values(),
      hub: hub.tunnels,
      local,
      published,
      reportOf: (chassis) => tunnels.gateway(chassis)?.wireGuard,
      wasEncrypted: (cidr) => areEncrypted(databases.gatewaysAtStart().values(), cidr),
    });
    const input: NetworkInput = {
      local,
      gateways: published,
      encryption,
      networks: cluster.networks,
      members: hub.members,
      expected: hub.expected,
      policies,
      edges,
      aggregates: cluster.exports.aggregates,
      tunnel: (own, other) => tunnels.state(own, other),
      carried: (handle) => databases.carriedAtStart().get(handle),
      routed: (handle) => databases.routedAtStart().get(handle),
      written: (handle) => databases.gatewaysAtStart().get(handle) ?? [],
      isGrouped: (chassis) => databases.isGrouped(chassis),
      time: { nowMs: now(), holdDownMs: holdDownMsOf(spec) },
    };
    const changes = remotes.settle(input, areAllDirty ? 'all' : dirty);
    const [inner = ''] = encryption.cidr.split('/');
    network.apply(input, changes, inner === '' ? undefined : encryptedMtuOf(spec.mtu, inner));
    services.apply({ spec, local, edges, changes });
    pods.apply(local, edges, changes);
    if (changes.isComplete && services.isComplete && !network.isSealed) network.seal();
    return changes.changed;
  }

  /** Forgets all state. The rows in the databases stay. */
  reset(): void {
    const { reader, clusters, cluster } = this.#options;
    this.#encryption.reset();
    clusters.reset();
    cluster.reset();
    reader.reset();
  }

  #wish: EncryptionWish | undefined;

  /** Equal wishes stay the same object. */
  #wishOf(spec: InterconnectSpec): EncryptionWish {
    const wish = wishOf(spec.encryption);
    if (JSON.stringify(wish) !== JSON.stringify(this.#wish)) this.#wish = wish;
    return this.#wish ?? wish;
  }

  #keys() {
    const { tunnels, hub } = this.#options.clusters;
    return {
      wireGuardOf: (chassis: string) => tunnels.gateway(chassis)?.wireGuard,
      tunnelAddresses: hub.tunnels.addresses,
    };
  }

  #acceptedKeys(spec: InterconnectSpec, local: LocalView): readonly AcceptedKey[] {
    const { tunnels, hub } = this.#options.clusters;
    const reports = this.#published(local).flatMap((chassis) => tunnels.gateway(chassis)?.wireGuard ?? []);
    return acceptedKeys(this.#wishOf(spec), hub.members.values(), reports);
  }

  #ownGateways(local: LocalView): readonly Gateway[] {
    return ownGateways({ local, gateways: this.#published(local), ...this.#keys() });
  }

  #published(local: LocalView): readonly string[] {
    return publishedGateways(local, this.#options.cluster.anchors);
  }
}

/** Whether some gateway of another cluster has an address within tunnels. */
function areEncrypted(clusters: Iterable<readonly Gateway[]>, cidr: string): boolean {
  const network = parseCidr(cidr);
  if (network === undefined) return false;
  const isWithin = (text: string): boolean => {
    const ip = parseIp(text);
    return ip !== undefined && cidrContains(network, ip);
  };
  for (const gateways of clusters)
    if (gateways.some(({ encaps }) => encaps.some(({ ip }) => isWithin(ip)))) return true;
  return false;
}

function holdDownMsOf({ failback }: InterconnectSpec): number {
  return failback.holdDownSeconds * 1000;
}
