/** Opens what reports the packets that policies drop on this node: the samples, the events and the metrics. */
import type { Registry } from 'prom-client';
import { parseIp } from '../../lib/net/ip.ts';
import type { Logger } from '../../lib/run/logger.ts';
import type { Local } from '../apply/open-local.ts';
import type { Pod } from '../model/pod.ts';
import type { Subnet } from '../model/subnet.ts';
import { bridgePorts, readFlows } from '../ovs/flow-reader.ts';
import { PacketIns } from '../ovs/packet-ins.ts';
import type { Cluster } from '../state/cluster.ts';
import type { Sandboxes } from '../state/sandboxes.ts';
import { openDropMetrics } from './drop-metrics.ts';
import type { ObjectEvents } from './events.ts';
import { podAtOf, type PodPort } from './pod-at.ts';
import { PolicyDrops, type PolicyDropsOptions } from './policy-drops.ts';

export interface OpenPolicyDropsOptions {
  readonly local: Pick<Local, 'ovs'>;
  readonly cluster: Cluster;
  readonly sandboxes: Sandboxes;
  readonly sources: Pick<PolicyDropsOptions<Pod>, 'logicalFlows' | 'policies'> & {
    /** Namespaces whose pods get events; undefined for all. */
    readonly namespaces: { get(name: string): unknown } | undefined;
  };
  readonly objectEvents: Pick<ObjectEvents, 'reportPod'>;
  /** OpenFlow socket of the integration bridge. */
  readonly bridgeSocket: string;
  readonly registry: Registry;
  readonly log: Logger;
}

export function openPolicyDrops(options: OpenPolicyDropsOptions): { close(): void } {
  const { local, cluster, sandboxes, sources, objectEvents, bridgeSocket: path, registry, log } = options;
  const { logicalFlows, policies, namespaces } = sources;
  const drops = new PolicyDrops({
    logicalFlows,
    policies,
    readPorts: async () => bridgePorts(await readFlows(path, [])),
    podAt: podAtOf({ local, cluster, sandboxes }),
    peerOf: (at, address) => peerOf(cluster, sandboxes, at, address),
    isWanted: (namespace) => namespaces === undefined || namespaces.get(namespace) !== undefined,
    report: (pod, problem) => objectEvents.reportPod(pod, problem),
    log,
  });
  const packets = new PacketIns({ path, onPacket: (packet) => drops.take(packet), log });
  openDropMetrics(registry, { drops, isUp: () => packets.isUp && logicalFlows.acls !== undefined });
  return {
    close() {
      packets.close();
      drops.close();
    },
  };
}

function subnetOf(cluster: Cluster, { pod, provider }: PodPort<Pod>): Subnet | undefined {
  const network = pod.interfaces.get(provider)?.network;
  return network === undefined || typeof network === 'string' ? undefined : cluster.subnet(network.subnet);
}

/**
 * VPCs may have the same addresses: the peer is in the same Subnet, or both are in the default VPC. A reader of events of one Namespace must not learn names of
 * pods in others, at addresses that he chose.
 */
function peerOf(cluster: Cluster, sandboxes: Sandboxes, at: PodPort<Pod>, address: string): Pod | undefined {
  const [own, wanted] = [subnetOf(cluster, at), parseIp(address)?.value];
  for (const sandbox of sandboxes.all()) {
    if (!sandbox.ips.some((ip) => parseIp(ip)?.value === wanted)) continue;
    const pod = cluster.podOf(sandbox);
    if (pod?.namespace !== at.pod.namespace) continue;
    const subnet = subnetOf(cluster, { pod, provider: sandbox.provider });
    const isNear = subnet !== undefined && (subnet === own || (subnet.isRouted && own?.isRouted === true));
    if (isNear) return pod;
  }
  return undefined;
}
