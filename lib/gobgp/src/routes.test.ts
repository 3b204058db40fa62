import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { GobgpClient } from './api.ts';
import { GobgpInvalidArgument, GobgpUnreachable, GobgpUnsupported } from './errors.ts';
import { unicastFamilies } from './nlri.ts';
import type { PeerConfig } from './peers.ts';
import type { RouteChange } from './route-messages.ts';
import { type RouteWatch, watchRoutes } from './routes.ts';
import { type FrrLab, labMissing, openFrrLab, plainPeer, startLabGobgpd, type TestRouter } from './testing-frr.ts';
import type { TestGobgpd } from './testing.ts';
import type { Transport } from './transport.ts';
import { eventuallyPasses } from '../../testing-eventually.ts';

test('gobgpd 3 cannot be watched', () => {
  const transport = { generation: 'v3' } as Transport;
  assert.throws(() => watchRoutes(transport, ['192.0.2.1'], unicastFamilies, () => {}), GobgpUnsupported);
});

describe('routes that FRR announces to gobgpd', { skip: labMissing() }, () => {
  let lab: FrrLab;
  let daemon: TestGobgpd;
  let gobgp: GobgpClient;
  let first: TestRouter;
  let second: TestRouter;
  const watches: RouteWatch[] = [];

  before(async () => {
    const config =
      (asn: number, networks: readonly string[]) =>
      ({ v4, nodeV4 }: Pick<TestRouter, 'v4' | 'nodeV4'>) => [
        `router bgp ${asn}`,
        ` bgp router-id ${v4}`,
        ' no bgp ebgp-requires-policy',
        ' no bgp network import-check',
        ' bgp graceful-restart',
        ' bgp graceful-restart preserve-fw-state',
        ' bgp graceful-restart restart-time 3',
        ` neighbor ${nodeV4} remote-as 65001`,
        ` neighbor ${nodeV4} timers connect 1`,
        ` neighbor ${nodeV4} advertisement-interval 0`,
        ' address-family ipv4 unicast',
        ...networks.map((network) => `  network ${network}`),
        `  neighbor ${nodeV4} route-map out out`,
        ' exit-address-family',
        ' address-family ipv6 unicast',
        `  neighbor ${nodeV4} activate`,
        `  neighbor ${nodeV4} route-map out out`,
        '  network fd50::/64',
        ' exit-address-family',
        'exit',
        'route-map out permit 10',
        ' set community 65101:7 no-export',
        ' set large-community 4200000000:1:2',
        ' set metric 70',
        ' set as-path prepend 4200000001 65077',
        ' set ipv6 next-hop global fd00:30:1::99',
      ];
    lab = await openFrrLab([config(65101, ['10.50.0.0/24']), config(65102, ['10.60.0.0/24', '10.61.0.0/24'])]);
    [first, second] = lab.routers as [TestRouter, TestRouter];
    ({ daemon, gobgp } = await startLabGobgpd(lab));
    // Nothing is imported: the watch reports received routes, not accepted ones.
    await gobgp.setPolicies({
      prefixSets: {},
      neighborSets: {},
      largeCommunitySets: {},
      policies: {},
      import: { policies: [], otherwise: 'reject' },
      export: { policies: [], otherwise: 'reject' },
    });
  });
  afterEach(async () => {
    for (const watch of watches.splice(0)) watch.close();
    for (const { config } of await gobgp.listPeers()) await gobgp.deletePeer(config.address);
  });
  after(async () => {
    gobgp.close();
    await daemon.stop();
    await lab.close();
  });

  const peer = (router: TestRouter, change: Partial<PeerConfig> = {}): PeerConfig => ({
    ...plainPeer(router.v4, router === first ? 65101 : 65102),
    ...change,
  });
  const untilReceived = (router: TestRouter, count: number) =>
    eventuallyPasses(async () =>
      (await gobgp.listPeers()).some(
        ({ config, session }) => config.address === router.v4 && session.received === count,
      ),
    );
  /** A watch that keeps the reported changes as a table: `peer prefix` → change. */
  const watched = (addresses: readonly string[]): { watch: RouteWatch; table: Map<string, RouteChange> } => {
    const table = new Map<string, RouteChange>();
    const watch = gobgp.watchRoutes(addresses, (changes) => {
      for (const change of changes) {
        const key = `${change.peer} ${change.prefix}`;
        if (change.isWithdrawn) assert.ok(table.delete(key), `${key} was withdrawn and never announced`);
        else table.set(key, change);
      }
    });
    watches.push(watch);
    return { watch, table };
  };

  test('existing routes come first with all attributes, then changes; routes of other neighbours are not reported', async () => {
    await gobgp.addPeer(peer(first));
    await gobgp.addPeer(peer(second));
    await untilReceived(first, 2);
    await untilReceived(second, 3);
    const { watch, table } = watched([first.v4]);
    await watch.ready;
    const attributes = {
      asPath: [65101, 4200000001, 65077],
      origin: 'igp',
      med: 70,
      communities: ['65101:7', '65535:65281'],
      largeCommunities: ['4200000000:1:2'],
    };
    const expected = {
      peer: first.v4,
      prefix: '10.50.0.0/24',
      family: 'ipv4-unicast',
      isWithdrawn: false,
      attributes: { nextHop: first.v4, ...attributes },
    };
    assert.deepEqual([...table.keys()].toSorted(), [`${first.v4} 10.50.0.0/24`, `${first.v4} fd50::/64`]);
    assert.deepEqual(table.get(`${first.v4} 10.50.0.0/24`), expected);
    const [listed] = await gobgp.listPaths('ipv4-unicast', { table: 'adj-in', peer: first.v4 });
    assert.deepEqual(listed?.attributes, expected.attributes);

    first.configure('router bgp 65101', 'address-family ipv4 unicast', 'network 10.51.0.0/24');
    first.configure('router bgp 65101', 'address-family ipv6 unicast', 'no network fd50::/64', 'network fd51::/64');
    second.configure('router bgp 65102', 'address-family ipv4 unicast', 'network 10.62.0.0/24');
    await eventuallyPasses(() => table.size === 3 && table.has(`${first.v4} fd51::/64`));
    assert.deepEqual(table.get(`${first.v4} 10.51.0.0/24`), { ...expected, prefix: '10.51.0.0/24' });
    assert.deepEqual(table.get(`${first.v4} fd51::/64`), {
      peer: first.v4,
      prefix: 'fd51::/64',
      family: 'ipv6-unicast',
      isWithdrawn: false,
      attributes: { nextHop: 'fd00:30:1::99', ...attributes },
    });
    assert.ok(!table.has(`${first.v4} fd50::/64`));
    second.configure('router bgp 65102', 'address-family ipv4 unicast', 'no network 10.62.0.0/24');
    first.configure('router bgp 65101', 'address-family ipv4 unicast', 'no network 10.51.0.0/24');
    first.configure('router bgp 65101', 'address-family ipv6 unicast', 'no network fd51::/64', 'network fd50::/64');
  });

  test('routes of an ended session are withdrawn; routes of a peer that is added later are reported', async () => {
    const { watch, table } = watched([first.v4, second.v4]);
    await watch.ready;
    assert.equal(table.size, 0);
    await gobgp.addPeer(peer(first));
    await gobgp.addPeer(peer(second));
    await eventuallyPasses(() => table.size === 5);
    await gobgp.deletePeer(first.v4);
    await eventuallyPasses(() => table.size === 3);
    await second.signal('bgpd', 'SIGKILL');
    await eventuallyPasses(() => table.size === 0);
    await second.start('bgpd');
    await eventuallyPasses(() => table.size === 3);
  });

  test('routes of a neighbour that restarts stay for its restart time, and no longer', async () => {
    const gracefulRestart = { restartTimeSeconds: 20, deferralSeconds: 5 };
    await gobgp.addPeer(peer(first, { gracefulRestart }));
    const { table } = watched([first.v4]);
    await eventuallyPasses(() => table.size === 2);
    // FRR holds its own End-of-RIB back for a while, and without it there is nothing to restart from.
    await untilReceived(first, 2);
    await first.signal('bgpd', 'SIGKILL');
    const killedAt = performance.now();
    await eventuallyPasses(async () =>
      (await gobgp.listPeers()).some(({ session }) => session.gracefulRestart?.isHelping),
    );
    await sleep(500);
    assert.equal(table.size, 2);
    await eventuallyPasses(() => table.size === 0);
    const tookMs = performance.now() - killedAt;
    assert.ok(tookMs > 2500, `${tookMs} ms`);
    await first.start('bgpd');
    await eventuallyPasses(() => table.size === 2);
  });

  test('a slow listener gets everything, one batch at a time, and nothing after close', async () => {
    const networks = Array.from({ length: 1200 }, (_, at) => `network 10.70.${at >> 8}.${at & 255}/32`);
    first.configure('router bgp 65101', 'address-family ipv4 unicast', ...networks);
    await gobgp.addPeer(peer(first));
    await untilReceived(first, 1202);
    const sizes: number[] = [];
    let isBusy = false;
    const watch = gobgp.watchRoutes([first.v4], async (changes) => {
      assert.ok(!isBusy);
      isBusy = true;
      await sleep(100);
      sizes.push(changes.length);
      isBusy = false;
    });
    watches.push(watch);
    await watch.ready;
    assert.deepEqual(sizes, [500, 500, 201, 1]);
    const no = networks.map((network) => `no ${network}`);
    first.configure('router bgp 65101', 'address-family ipv4 unicast', ...no);
    await eventuallyPasses(() => sizes.reduce((sum, size) => sum + size, 0) === 1202 + 1200);
    watch.close();
    assert.ok((await watch.ended) instanceof GobgpUnreachable);
    const batches = sizes.length;
    first.configure('router bgp 65101', 'address-family ipv4 unicast', 'network 10.80.0.0/24');
    await untilReceived(first, 3);
    assert.equal(sizes.length, batches);
    first.configure('router bgp 65101', 'address-family ipv4 unicast', 'no network 10.80.0.0/24');
  });

  test('own routes that a neighbour sends back are not reported, first or later', async () => {
    const accept = { policies: [], otherwise: 'accept' } as const;
    await gobgp.setPolicies({ ...(await gobgp.listPolicies()), import: accept, export: accept });
    await gobgp.addPaths([{ prefix: '10.1.0.0/16', attributes: { nextHop: '0.0.0.0' } }]);
    await gobgp.addPeer(peer(first));
    await untilReceived(first, 3);
    const { watch, table } = watched([first.v4]);
    await watch.ready;
    await gobgp.addPaths([{ prefix: '10.2.0.0/16', attributes: { nextHop: '0.0.0.0' } }]);
    await untilReceived(first, 4);
    assert.deepEqual([...table.keys()].toSorted(), [`${first.v4} 10.50.0.0/24`, `${first.v4} fd50::/64`]);
  });

  test('an invalid address is refused', () => {
    assert.throws(() => gobgp.watchRoutes(['router'], () => {}), GobgpInvalidArgument);
  });
});
