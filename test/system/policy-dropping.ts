/** The part of the daemon that reports what policies drop, for a node of a PolicyBed. */
import { bridgePorts, readFlows } from '../../daemon/ovs/flow-reader.ts';
import { PacketIns } from '../../daemon/ovs/packet-ins.ts';
import { PolicyDrops } from '../../daemon/status/policy-drops.ts';
import { LogicalFlows } from '../../daemon/watch/logical-flows.ts';
import { watchNetworkPolicies } from '../../daemon/watch/network-policies.ts';
import { createLogger } from '../../lib/run/logger.ts';
import { eventually } from '../../lib/testing-eventually.ts';
import type { PolicyBed } from './policy-bed.ts';
import type { NodeName } from './service-bed.ts';

export class PolicyDropping {
  /** `namespace/pod: message`. */
  readonly events: string[] = [];
  /** Packets that the bridge sent, also those that no policy dropped. */
  packets = 0;
  readonly #drops: PolicyDrops;
  readonly #close: () => Promise<unknown>;

  private constructor(drops: (dropping: PolicyDropping) => PolicyDrops, close: () => Promise<unknown>) {
    this.#drops = drops(this);
    this.#close = close;
  }

  static async open(bed: PolicyBed, node: NodeName): Promise<PolicyDropping> {
    const { services } = bed;
    const { signal } = new AbortController();
    const log = createLogger('test');
    const path = services.bridgeSocket(node);
    const remotes = (): readonly string[] => [services.southbound];
    const logicalFlows = new LogicalFlows({ remotes, onRemotes: () => undefined, signal, log });
    const policies = watchNetworkPolicies({ client: services.controller.kube, signal, log });
    await policies.synced;
    const dropping = new PolicyDropping(
      ({ events }) =>
        new PolicyDrops({
          logicalFlows,
          policies,
          readPorts: async () => bridgePorts(await readFlows(path, [])),
          podAt: (port) => bed.podAt(node, port),
          peerOf: () => undefined,
          isWanted: () => true,
          report: ({ namespace, name }, { message }) => events.push(`${namespace}/${name}: ${message}`),
          log,
          delayMs: 100,
        }),
      async () => {
        packetIns.close();
        await Promise.all([logicalFlows.close(), policies.stop()]);
      },
    );
    const packetIns = new PacketIns({
      path,
      onPacket(packet) {
        dropping.packets += 1;
        dropping.#drops.take(packet);
      },
      log,
    });
    await eventually('samples would be received', () => packetIns.isUp && logicalFlows.acls !== undefined);
    return dropping;
  }

  /** Samples of packets that policies dropped. */
  get samples(): number {
    return [...this.#drops.counts.values()].reduce((sum, packets) => sum + packets, 0);
  }

  async close(): Promise<void> {
    this.#drops.close();
    await this.#close();
  }
}
