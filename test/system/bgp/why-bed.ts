/**
 * The speaker bed with a second node, `n2`: both nodes reach the two routers at the same addresses, so that one BgpPeer is a session of
 * each node. The first router has another AS. The second has the nodes' AS and carries both families on its IPv4 sessions.
 */
import type { ChildProcess } from 'node:child_process';
import { nodeGobgpd, startGobgpd, type TestGobgpd } from '../../../lib/gobgp/src/testing.ts';
import { nodes } from '../../../lib/kube/resources.ts';
import type { FrrPeer } from './frr.ts';
import { connect, end, Namespace } from './namespace.ts';
import { openSpeakerBed, type SpeakerBed } from './speaker-bed.ts';
import { startSpeaker } from './speaker-process.ts';

export const localAsn = 65001;

export interface BgpNode {
  readonly name: string;
  /** The node's address towards each router, in order. */
  readonly v4: readonly [string, string];
  readonly v6: readonly [string, string];
}

/** Opens a bed with the speakers of both nodes and nothing to announce. */
export async function openWhyBed(): Promise<WhyBed> {
  const bed = new WhyBed(
    await openSpeakerBed([
      { kind: 'frr', name: 'tor1', asn: 65101 },
      { kind: 'frr', name: 'tor2', asn: localAsn, nodeAsn: localAsn },
    ]),
  );
  try {
    await bed.join();
    return bed;
  } catch (error) {
    await bed.close();
    throw error;
  }
}

export class WhyBed {
  readonly bed: SpeakerBed;
  readonly routers: readonly [FrrPeer, FrrPeer];
  readonly nodes: readonly [BgpNode, BgpNode];
  #namespace: Namespace | undefined;
  #gobgpd: TestGobgpd | undefined;
  #speaker: ChildProcess | undefined;

  constructor(bed: SpeakerBed) {
    this.bed = bed;
    const [tor1, tor2] = [bed.lab.frr('tor1'), bed.lab.frr('tor2')];
    this.routers = [tor1, tor2];
    const [first, second] = [tor1.link, tor2.link];
    this.nodes = [
      { name: 'n1', v4: [first.nodeV4, second.nodeV4], v6: [first.nodeV6, second.nodeV6] },
      { name: 'n2', v4: ['172.31.1.12', '172.31.2.12'], v6: ['fd00:31:1::12', 'fd00:31:2::12'] },
    ];
  }

  get kubeconfig(): string {
    return this.bed.server.kubeconfig;
  }

  async join(): Promise<void> {
    const { bed } = this;
    const [first, second] = this.nodes;
    const namespace = await Namespace.open(second.name);
    this.#namespace = namespace;
    for (const [at, router] of this.routers.entries()) {
      const [v4 = '', v6 = ''] = [second.v4[at], second.v6[at]];
      connectSecond(namespace, router, v4, v6);
      await expectSecond(router, v4, v6);
    }
    const [, tor2] = this.routers;
    for (const address of [first.v4[1], second.v4[1]])
      await tor2.configure(`router bgp ${tor2.asn}`, 'address-family ipv6 unicast', `neighbor ${address} activate`);
    await bed.createNode(second.name, second.v4[0], { 'ovn.kubernetes.io/bgp': 'true' });
    for (const { name, v4, v6 } of this.nodes) {
      await bed.kube.patch(nodes, { name }, 'merge', { metadata: { labels: { rack: name } } });
      const addresses = [v4[0], v6[0]].map((address) => ({ type: 'InternalIP', address }));
      await bed.kube.patch(nodes, { name }, 'merge', { status: { addresses } }, { subresource: 'status' });
    }
    this.#gobgpd = await startGobgpd(nodeGobgpd(), namespace.prefix);
    this.#speaker = startSpeaker({ name: second.name, namespace, gobgpd: this.#gobgpd }, this.kubeconfig, []);
  }

  async close(): Promise<void> {
    if (this.#speaker) await end(this.#speaker);
    await this.#gobgpd?.stop();
    await this.#namespace?.close();
    await this.bed.close();
  }
}

/** Adds a second link of the router with the router's own addresses, so that two nodes need no bridge. */
function connectSecond(namespace: Namespace, router: FrrPeer, v4: string, v6: string): void {
  const { link } = router;
  connect(
    { namespace, device: router.name, addresses: [`${v4}/24`, `${v6}/48`] },
    { namespace: router.namespace, device: 'n2', addresses: [`${link.v4}/32`, `${link.v6}/128`] },
  );
  router.namespace.ip(`route add ${v4}/32 dev n2 src ${link.v4}`, `route add ${v6}/128 dev n2 src ${link.v6}`);
}

/** Configures the router's sessions with the second node; the lab configures those of the first. */
async function expectSecond(router: FrrPeer, v4: string, v6: string): Promise<void> {
  const neighbor = (address: string) => [
    `neighbor ${address} remote-as ${router.asn === localAsn ? 'internal' : 'external'}`,
    `neighbor ${address} timers 3 9`,
    `neighbor ${address} timers connect 1`,
    `neighbor ${address} advertisement-interval 0`,
  ];
  const own = `router bgp ${router.asn}`;
  await router.configure(own, ...neighbor(v4), ...neighbor(v6));
  await router.configure(own, 'address-family ipv4 unicast', `no neighbor ${v6} activate`);
  await router.configure(own, 'address-family ipv6 unicast', `neighbor ${v6} activate`);
}
