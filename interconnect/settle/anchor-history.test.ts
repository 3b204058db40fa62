import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { AnchorHistory } from './anchor-history.ts';
import type { GatewayFacts } from '../model/anchors.ts';
import { noCuts, type CutView } from './cut-history.ts';

const gateways = (fields: Readonly<Record<string, Partial<GatewayFacts>>> = {}): readonly GatewayFacts[] =>
  ['a', 'b'].map((chassis) => ({
    chassis,
    isSelected: true,
    isDrained: false,
    isUsable: true,
    isGone: false,
    upSinceMs: undefined,
    ...fields[chassis],
  }));
const connected = { isConnected: true, knownRevision: 0 };

class Network {
  readonly anchors = new AnchorHistory();
  step(
    nowMs: number,
    holders: readonly string[],
    { facts = gateways(), hub = connected, cuts = noCuts, isFollowed = true } = {},
  ) {
    const orders = [
      ['a', 'b'],
      ['b', 'a'],
    ];
    const paths = orders.map((present, index) => ({ index, present, holder: holders[index] ?? '', isRetiring: false }));
    const { memories } = this.anchors.step('ts', {
      paths,
      gateways: facts,
      cuts,
      hub,
      isFollowed,
      nowMs,
      holdDownMs: 5000,
    });
    return [...memories.values()].map(({ order, phase }) => `${order.join('')} ${phase}`);
  }
}

describe('a gateway that lost its port', () => {
  it('is dead after ten seconds, and its path gets another anchor', () => {
    const network = new Network();
    assert.deepEqual(network.step(0, ['a', 'b']), ['ab settled', 'ba settled']);
    assert.deepEqual(network.step(100, ['b', 'b']), ['ab settled', 'ba settled']);
    assert.equal(network.anchors.wakeMs, 10_100);
    network.step(10_100, ['b', 'b']);
    assert.ok(network.anchors.isDead('a'));
    assert.deepEqual(network.step(10_101, ['b', 'b']), ['ab draining', 'ba settled']);
    network.anchors.announced(7);
    network.step(10_200, ['b', 'b'], { hub: { isConnected: true, knownRevision: 6 } });
    network.step(15_000, ['b', 'b'], { hub: { isConnected: true, knownRevision: 6 } });
    assert.deepEqual(network.step(15_001, ['b', 'b'], { hub: { isConnected: true, knownRevision: 7 } }), [
      'ab draining',
      'ba settled',
    ]);
    assert.deepEqual(network.step(16_501, ['b', 'b'], { hub: { isConnected: true, knownRevision: 7 } }), [
      'ba moving',
      'ba settled',
    ]);
    assert.deepEqual(network.step(16_502, ['b', 'b']), ['ba settled', 'ba settled']);
  });

  it('is alive again once its tunnels came up after the loss, not before it', () => {
    const network = new Network();
    network.step(50_000, ['b', 'b']);
    network.step(60_000, ['b', 'b']);
    assert.ok(network.anchors.isDead('a'));
    network.step(61_000, ['b', 'b'], { facts: gateways({ a: { upSinceMs: 40_000 } }) });
    assert.ok(network.anchors.isDead('a'));
    network.step(62_000, ['b', 'b'], { facts: gateways({ a: { upSinceMs: 61_500 } }) });
    assert.ok(!network.anchors.isDead('a'));
  });

  it('is not dead if it has the port again in time', () => {
    const network = new Network();
    network.step(0, ['b', 'b']);
    network.step(9000, ['a', 'b']);
    network.step(10_000, ['a', 'b']);
    assert.ok(!network.anchors.isDead('a'));
    assert.equal(network.anchors.wakeMs, undefined);
  });

  it('joins no order before BFD to it had time to come up, except at the very start', () => {
    const anchors = new AnchorHistory();
    const step = (nowMs: number, holder: string, present: readonly string[], network = 'ts') => {
      const paths = [{ index: 0, present, holder, isRetiring: false }];
      const facts = {
        paths,
        gateways: gateways(),
        cuts: noCuts,
        hub: connected,
        isFollowed: true,
        nowMs,
        holdDownMs: 5000,
      };
      return anchors.step(network, facts).memories.get(0)?.order.join('');
    };
    assert.equal(step(0, 'a', ['a']), 'a');
    assert.equal(anchors.wakeMs, 5000);
    assert.equal(step(4999, 'a', ['a']), 'a');
    assert.equal(step(5000, 'a', ['a']), 'ab');
    anchors.clear();
    assert.equal(step(6000, '', []), 'ab');
  });

  it('waits for BFD on each network independently of other networks', () => {
    const anchors = new AnchorHistory();
    const none = { paths: [], gateways: gateways(), cuts: noCuts, hub: connected, isFollowed: true, holdDownMs: 5000 };
    const path = { index: 0, present: ['a'], holder: 'a', isRetiring: false };
    for (const nowMs of [0, 2500]) {
      anchors.step('ts', { ...none, paths: [path], nowMs });
      anchors.step('none', { ...none, nowMs });
    }
    const { memories } = anchors.step('ts', { ...none, paths: [path], nowMs: 5000 });
    assert.equal(memories.get(0)?.order.join(''), 'ab');
    anchors.step('none', { ...none, nowMs: 5000 });
    assert.equal(anchors.wakeMs, undefined, 'nothing is waited for any more');
  });

  it('is not dead while the databases or northd do not follow, nor if it has another port', () => {
    const network = new Network();
    for (const nowMs of [0, 6000, 12_000, 18_000]) network.step(nowMs, ['b', 'b'], { isFollowed: false });
    assert.ok(!network.anchors.isDead('a'));
    network.step(27_000, ['b', 'b']);
    network.step(28_000, ['b', 'b']);
    assert.ok(network.anchors.isDead('a'), 'ten seconds after they did');
    const crossed = new Network();
    crossed.step(0, ['b', 'a']);
    assert.deepEqual(crossed.step(10_000, ['b', 'a']), ['ab settled', 'ba settled']);
    assert.ok(!crossed.anchors.isDead('a') && !crossed.anchors.isDead('b'));
  });

  it('is passed over if it does not claim a port that is moved to it', () => {
    const network = new Network();
    const drained = { facts: gateways({ a: { isDrained: true } }), hub: { isConnected: true, knownRevision: 9 } };
    const back = { hub: drained.hub };
    network.step(0, ['a', 'b'], drained);
    network.anchors.announced(1);
    network.step(1, ['a', 'b'], drained);
    assert.equal(network.step(1600, ['a', 'b'], drained)[0], 'ba moving');
    // The gateway forwards for its other path with the ports that it had.
    assert.equal(network.step(3000, ['', 'b'], back)[0], 'ba moving');
    network.step(13_000, ['', 'b'], back);
    assert.equal(network.step(13_001, ['', 'b'], back)[0], 'ab moving');
  });

  it('remains the anchor if it is the last gateway', () => {
    const network = new Network();
    const alone = gateways({ b: { isUsable: false } });
    network.step(0, ['b', 'b'], { facts: alone });
    network.step(10_000, ['b', 'b'], { facts: alone });
    assert.deepEqual(network.step(10_001, ['b', 'b'], { facts: alone })[0], 'ab settled');
  });
});

describe('a gateway that no longer anchors a path', () => {
  it('counts as an anchor for five seconds, and the next step is due when they end', () => {
    const anchors = new AnchorHistory();
    anchors.step('ts', {
      paths: [{ index: 0, present: ['a', 'b'], holder: 'a', isRetiring: false }],
      gateways: gateways(),
      cuts: noCuts,
      hub: connected,
      isFollowed: true,
      nowMs: 0,
      holdDownMs: 5000,
    });
    anchors.keepOnly(new Set(['ts']), 0);
    assert.deepEqual([[...anchors.anchors()], anchors.wakeMs], [['a'], undefined]);
    anchors.keepOnly(new Set(), 1000);
    assert.deepEqual([[...anchors.anchors()], anchors.wakeMs], [['a'], 5000]);
    anchors.keepOnly(new Set(), 5000);
    assert.deepEqual([[...anchors.anchors()], anchors.wakeMs], [[], undefined]);
  });
});

describe('two gateways that are cut off from each other', () => {
  const cutOff = (lost: readonly string[] = [], sinceMs: number | undefined = 0): CutView => ({
    cuts: [{ pair: ['a', 'b'], sinceMs }],
    lost: new Set(lost),
  });
  /** Follows what the database has, as the present order. */
  class Cluster {
    readonly anchors = new AnchorHistory();
    orders: readonly (readonly string[])[];
    constructor(...orders: readonly string[]) {
      this.orders = orders.map((order) => order.split(''));
    }
    step(nowMs: number, cuts: CutView, { holders = this.orders.map(([anchor = '']) => anchor), all = 'ab' } = {}) {
      const facts = all.split('').map((chassis) => ({ ...(gateways()[0] as GatewayFacts), chassis }));
      const paths = this.orders.map((present, index) => ({
        index,
        present,
        holder: holders[index] ?? '',
        isRetiring: false,
      }));
      const hub = { isConnected: true, knownRevision: 9 };
      const input = { paths, gateways: facts, cuts, hub, isFollowed: true, nowMs, holdDownMs: 5000 };
      const { memories } = this.anchors.step('ts', input);
      this.anchors.announced(1);
      this.orders = [...memories.values()].map(({ order }) => order);
      return [...memories.values()].map(({ order, phase }) => `${order.join('')} ${phase}`);
    }
  }

  it('are each alone in the order of their port, and join each other’s order again one at a time', () => {
    const cluster = new Cluster('ab', 'ba');
    cluster.step(0, noCuts);
    assert.deepEqual(cluster.step(1000, cutOff([], 1000)), ['a settled', 'b settled']);
    assert.deepEqual(cluster.step(60_000, cutOff()), ['a settled', 'b settled']);
    assert.deepEqual(cluster.step(60_001, noCuts), ['a draining', 'b settled']);
    cluster.step(60_002, noCuts);
    assert.deepEqual(cluster.step(61_600, noCuts), ['ab moving', 'b settled']);
    assert.deepEqual(cluster.step(61_601, noCuts), ['ab settled', 'b settled']);
    assert.deepEqual(cluster.step(64_601, noCuts), ['ab settled', 'ba settled'], 'BFD is up by then');
  });

  it('keep a third gateway that hears both in their orders', () => {
    const cluster = new Cluster('abc', 'bca');
    cluster.step(0, noCuts, { all: 'abc' });
    assert.deepEqual(cluster.step(1000, cutOff([], 1000), { all: 'abc' }), ['ac settled', 'bc settled']);
    assert.deepEqual(cluster.step(60_000, noCuts, { all: 'abc' }), ['acb settled', 'bca settled']);
  });

  it('take over from each other when one dies, and the dead one gets no port before it is heard again', () => {
    const cluster = new Cluster('a', 'b');
    cluster.step(0, cutOff());
    assert.deepEqual(cluster.step(1000, cutOff(['a'])), ['b settled', 'b settled']);
    assert.deepEqual(cluster.step(9000, cutOff()), ['b settled', 'b settled']);
    cluster.step(60_000, noCuts);
    assert.deepEqual(cluster.step(61_600, noCuts), ['b draining', 'b settled']);
  });

  it('keep their ports when neither is known to be alive', () => {
    const cluster = new Cluster('a', 'b');
    assert.deepEqual(cluster.step(0, cutOff(['a', 'b'])), ['a settled', 'b settled']);
  });

  it('do not join each other’s order after a restart during the cut', () => {
    const cluster = new Cluster('a', 'b');
    assert.deepEqual(cluster.step(0, cutOff([], undefined)), ['a settled', 'b settled']);
  });
});
