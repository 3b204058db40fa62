/** The part of the daemon that reports what policies drop, for a node of a PolicyBed. */
import assert from 'node:assert/strict';
import { bridgePorts, readFlows } from '../../daemon/ovs/flow-reader.ts';
import { PacketIns } from '../../daemon/ovs/packet-ins.ts';
import { PolicyDrops } from '../../daemon/status/policy-drops.ts';
import { LogicalFlows } from '../../daemon/watch/logical-flows.ts';
import { watchNetworkPolicies } from '../../daemon/watch/network-policies.ts';
import { createLogger } from '../../lib/run/logger.ts';
import { eventually } from '../../lib/testing-eventually.ts';
import type { Policy } from '../model/network-policies.ts';
import type { PolicyBed } from './policy-bed.ts';
import type { NodeName } from './service-bed.ts';

class PolicyDropping {
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

/** What is dropped on n1 becomes events, by every kind of policy, for both directions and families, and a flood becomes a few. */
export async function checkSamples(bed: PolicyBed): Promise<void> {
  const { services } = bed;
  const closed = (name: string, direction: 'Ingress' | 'Egress', namespace: string): Policy => ({
    metadata: { namespace, name },
    spec: { podSelector: {}, policyTypes: [direction] },
  });
  const discard = { udp: { destinationPort: { number: 9 } } };
  await bed.applyCluster({
    kind: 'ClusterNetworkPolicy',
    metadata: { name: 'gate' },
    spec: {
      tier: 'Admin',
      priority: 10,
      subject: { namespaces: { matchLabels: { team: 'shop' } } },
      ingress: [{ action: 'Deny', from: [{ namespaces: {} }], protocols: [discard] }],
    },
  });
  await bed.apply(closed('a', 'Ingress', 'shop'));
  await bed.apply(closed('b', 'Ingress', 'shop'));
  await bed.apply(closed('out', 'Egress', 'ops'));
  await bed.untilEqual('shop is closed, and ops reaches nothing');

  // What was dropped until here would take from its limits.
  const dropping = await PolicyDropping.open(bed, 'n1');
  try {
    const [web = '', web6 = ''] = bed.place('web').addresses;
    const [db = '', db6 = ''] = bed.place('db').addresses;
    const send = (from: string, to: string, port: number, datagrams = 1): string =>
      services.in(from, 'bash -c', `exec 3<>/dev/udp/${to}/${port}; for _ in {1..${datagrams}}; do echo >&3; done`);
    const until = (event: string) =>
      eventually(`there is an event ${event}`, () => {
        if (dropping.events.includes(event)) return true;
        throw new Error(`${dropping.packets} packets, ${dropping.samples} samples: ${dropping.events.join('\n')}`);
      });
    const why = (ends: string) => `; "isthmus policy why ${ends}/UDP" explains it`;
    const isolated = 'was dropped, isolated by NetworkPolicies shop/a, shop/b, of which no rule allows it';
    send('db', web, 7000);
    await until(`shop/web: ingress: UDP to port 7000 from ${db} ${isolated}${why(`${db} shop/web 7000`)}`);
    send('db', web6, 7000);
    await until(`shop/web: ingress: UDP to port 7000 from ${db6} ${isolated}${why(`${db6} shop/web 7000`)}`);
    send('db', web, 9);
    const gate = 'was dropped, denied by ClusterNetworkPolicy gate, spec.ingress[0]';
    await until(`shop/web: ingress: UDP to port 9 from ${db} ${gate}${why(`${db} shop/web 9`)}`);
    send('cli', db, 7000);
    const out = 'was dropped, isolated by NetworkPolicy ops/out, of which no rule allows it';
    await until(`ops/cli: egress: UDP to port 7000 to ${db} ${out}${why(`ops/cli ${db} 7000`)}`);

    const before = dropping.samples;
    const beganMs = performance.now();
    send('db', web, 7001, 5000);
    await eventually('the flood has samples', () => dropping.samples > before);
    const seconds = (performance.now() - beganMs) / 1000;
    const most = 10 + 5 * (seconds + 1);
    assert.ok(dropping.samples - before <= most, `${dropping.samples - before} samples in ${seconds} s`);
    assert.equal(dropping.events.length, 4, 'the pair of pods has no further event');
  } finally {
    await dropping.close();
  }
}
