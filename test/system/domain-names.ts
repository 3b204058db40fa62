/** Policies with domain names by packets: addresses outside of the cluster are those of a node's loopback, and a server of the test answers for their name. */
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { limits } from '../../daemon/settle/asked-names.ts';
import { TestDns } from '../../lib/dns/testing.ts';
import { askedDomains } from '../../lib/kube/resources.ts';
import { eventually } from '../../lib/testing-eventually.ts';
import type { ClusterPolicy } from '../model/cluster-policies.ts';
import { keptPort, servedPorts, silenceMs, type PolicyBed } from './policy-bed.ts';
import { Agent } from './service-agent.ts';
import { AskingNode } from './asked-domains.ts';

const [first, second, third] = ['198.51.100.1', '198.51.100.2', 'fd00:51::1'] as const;
const name = 'shop.example.test';
/** What the name is an alias of. */
const host = 'a.example.test';
const dnsPort = 53;
/** Longer than a TTL of a second and the grace. */
const expiryMs = 13_000;

type UntilReady = (policy: ClusterPolicy, status: string, reason: string) => Promise<string>;

export class DomainNames {
  readonly #bed: PolicyBed;
  readonly #dns: TestDns;
  readonly #world: Agent;
  readonly #untilReady: UntilReady;

  private constructor(bed: PolicyBed, dns: TestDns, world: Agent, untilReady: UntilReady) {
    this.#bed = bed;
    this.#dns = dns;
    this.#world = world;
    this.#untilReady = untilReady;
  }

  static async open(bed: PolicyBed, untilReady: UntilReady): Promise<DomainNames> {
    const { services } = bed;
    for (const address of [first, second]) services.in('n1', `ip addr add ${address}/32 dev lo`);
    services.in('n1', `ip addr add ${third}/128 dev lo nodad`);
    const world = await Agent.start(services.space('n1'), [first, second, third], [...servedPorts, dnsPort], keptPort);
    return new DomainNames(bed, await TestDns.start(), world, untilReady);
  }

  /** The controller that follows asks no server. */
  async close(): Promise<void> {
    await this.#world.stop();
    await this.#dns.close();
    await this.#bed.removeAll();
    await this.#bed.services.controller.kill();
    await this.#bed.services.startController();
  }

  /** @param policy accepts the name for the pods of the namespace shop, and denies all other destinations */
  async prove(policy: ClusterPolicy): Promise<void> {
    await this.#becomeReachable(policy);
    const kept = await this.#change();
    await this.#losesItsServer(policy, kept);
    await this.#opensNothingOfTheCluster(policy);
    await this.#bed.removeAll();
    await this.#until('everything is open again', first, true);
    assert.deepEqual(this.#bed.rows(), []);
  }

  /** After `prove`. @param policy the same with `*.example.test` */
  async proveAsked(policy: ClusterPolicy): Promise<void> {
    const { controller } = this.#bed.services;
    const [ours, others] = ['a.example.test', 'b.shop.example.test'];
    this.#dns.zones.set(ours, { addresses: [first, third], ttl: 1 });
    this.#dns.zones.set(others, { addresses: [second], ttl: 1 });
    const asking = await AskingNode.open(this.#bed, 'n1', 'web');
    try {
      await this.#until('everything is open', first, true);
      assert.equal(asking.hasCopies, false, 'no policy names a name with *');
      await this.#bed.applyCluster(policy);
      await eventually('questions are copied', () => asking.hasCopies);
      await this.#untilReady(policy, 'True', 'PolicyReady');
      await this.#until('a name that no pod asked for matches nothing', first, false);
      asking.question(first, ours, 'a.example.net', 'example.test');
      asking.forgedAnswer(first, others);
      await this.#until('the name that the pod asked for', first, true);
      await this.#until('that of IPv6', third, true);
      assert.deepEqual(await asking.reported(), [ours]);
      assert.equal(await this.#reaches(second), false, 'nobody asked for the other name');
      assert.notEqual(
        await this.#bed.place('web').agent.ask('UDP', first, dnsPort, silenceMs),
        'silent',
        'packets that are copied go on',
      );
      asking.question(third, others);
      await this.#until('a name below, by a question over IPv6', second, true);

      await this.#forgets(ours, others);
      await controller.kill();
      assert.deepEqual(await this.#writtenByStart(), [], 'a start with the same names writes nothing');
      await this.#isFlooded(asking);
    } finally {
      await asking.close();
      await this.#bed.services.controller.kube.delete(askedDomains, { name: 'n1' });
    }
  }

  /** A name that no pod has asked for within an hour is for running connections. */
  async #forgets(gone: string, stays: string): Promise<void> {
    const { agent } = this.#bed.place('web');
    const kept = String(Number(await agent.ask('check')) + 1);
    assert.equal(await agent.ask('keep', first, keptPort), 'alive');
    const names = [{ name: stays, namespace: 'shop', since: 1 }];
    await this.#bed.services.controller.kube.patch(askedDomains, { name: 'n1' }, 'merge', { spec: { names } });
    await this.#until(`${gone} is for no new connection`, first, false);
    assert.equal(await this.#reaches(second), true);
    assert.equal(await agent.ask('check'), kept, 'a connection to it stays');
  }

  /** A pod that asks for many names has as many as its limit, and an event. */
  async #isFlooded(asking: AskingNode): Promise<void> {
    const many = Array.from({ length: limits.pod + 20 }, (_, index) => `n${index}.example.test`);
    asking.question(first, ...many);
    await eventually('an event names the limit', () =>
      asking.events.some((event) => event.startsWith('shop/web: it asks for more than 100 domain names')),
    );
    await eventually('the limit is reached', async () => (await asking.reported()).length === limits.pod);
    await this.#bed.removeAll();
    await eventually('no name is reported without a policy', async () => (await asking.reported()).length === 0);
    await eventually('no question is copied any more', () => !asking.hasCopies);
    await this.#until('everything is open again', first, true);
    await eventually('no rows are left', () => this.#bed.rows().length === 0);
  }

  async #becomeReachable(policy: ClusterPolicy): Promise<void> {
    await this.#until('everything is open', first, true);
    await this.#bed.applyCluster(policy);
    assert.match(await this.#untilNot(policy, 'DomainNamesNotResolved'), /kube-dns has no ready endpoint/);
    await this.#until('a name without answers matches nothing', first, false);
    this.#dns.zones.set(name, { alias: host, ttl: 600 });
    this.#answer(first, third);
    await this.#bed.services.controller.kill();
    await this.#start();
    await this.#untilReady(policy, 'True', 'PolicyReady');
    await this.#until('the first address', first, true);
    await this.#until('that of IPv6', third, true);
    assert.equal(await this.#reaches(first, 'UDP'), true);
    assert.equal(await this.#reaches(second), false);
  }

  /** The name gets another address. Returns how many connections are open. */
  async #change(): Promise<string> {
    const { agent } = this.#bed.place('web');
    const known = Number(await agent.ask('check'));
    assert.equal(await agent.ask('keep', first, keptPort), 'alive');
    this.#answer(second);
    await this.#until('the second address', second, true);
    const atMs = performance.now();
    assert.equal(await this.#reaches(first), true, 'an answer holds for its TTL, and a grace');
    await this.#until('the first address is for no new connection', first, false);
    assert.ok(performance.now() - atMs > 5000, 'it was for new connections meanwhile');
    const kept = String(known + 1);
    assert.equal(await agent.ask('check'), kept, 'a connection to it stays');
    return kept;
  }

  async #losesItsServer(policy: ClusterPolicy, kept: string): Promise<void> {
    const { controller } = this.#bed.services;
    this.#dns.isSilent = true;
    const silentMs = performance.now();
    assert.match(await this.#untilNot(policy, 'DomainNamesNotResolved'), /no DNS server answers.*stay as they are/);
    await controller.kill();
    assert.deepEqual(await this.#writtenByStart(), [], 'a start without answers writes nothing');
    await sleep(Math.max(0, expiryMs - (performance.now() - silentMs)));
    assert.equal(await this.#reaches(second), true, 'addresses stay while no server answers');
    assert.equal(await this.#reaches(first), false);
    assert.equal(await this.#bed.place('web').agent.ask('check'), kept, 'the connection stays');
  }

  async #opensNothingOfTheCluster(policy: ClusterPolicy): Promise<void> {
    const [node = ''] = this.#bed.place('n2').served;
    this.#answer(second, '169.254.169.254', node);
    this.#dns.isSilent = false;
    assert.match(await this.#untilNot(policy, 'AddressRefused'), /169\.254\.169\.254 is for one link/);
    assert.equal(await this.#reaches(node), false, 'a name opens no node');
    this.#answer(second);
    await this.#untilReady(policy, 'True', 'PolicyReady');
    await this.#bed.services.controller.kill();
    assert.deepEqual(await this.#writtenByStart(), [], 'a start with the same answers writes nothing');
    assert.equal(await this.#reaches(second), true);
  }

  #answer(...addresses: readonly string[]): void {
    this.#dns.zones.set(host, { addresses, ttl: 1 });
  }

  #start(): Promise<void> {
    return this.#bed.services.startController(`--dns-servers=127.0.0.1:${this.#dns.server.port}`);
  }

  /** The tables of the rows that a start changes. */
  async #writtenByStart(): Promise<readonly string[]> {
    const tables: string[] = [];
    const stop = this.#bed.services.controller.nb.subscribe((changes) =>
      tables.push(...changes.map(({ table }) => table)),
    );
    await this.#start();
    stop();
    return tables;
  }

  async #reaches(address: string, protocol: 'TCP' | 'UDP' = 'TCP'): Promise<boolean> {
    return (await this.#bed.place('web').agent.ask(protocol, address, 8080, silenceMs)) !== 'silent';
  }

  async #until(what: string, address: string, isReached: boolean): Promise<void> {
    await eventually(what, async () => (await this.#reaches(address)) === isReached);
  }

  #untilNot(policy: ClusterPolicy, reason: string): Promise<string> {
    return this.#untilReady(policy, 'False', reason);
  }
}
