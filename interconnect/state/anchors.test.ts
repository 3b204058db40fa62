import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Anchors, type GatewayFacts } from './anchors.ts';

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
  readonly anchors = new Anchors();
  step(nowMs: number, holders: readonly string[], { facts = gateways(), hub = connected } = {}) {
    const orders = [
      ['a', 'b'],
      ['b', 'a'],
    ];
    const paths = orders.map((present, index) => ({ index, present, holder: holders[index] ?? '', isRetiring: false }));
    const { memories } = this.anchors.step('ts', { paths, gateways: facts, hub, nowMs, holdDownMs: 5000 });
    return [...memories.values()].map(({ order, phase }) => `${order.join('')} ${phase}`);
  }
}

describe('a gateway that lost its port', () => {
  it('is taken for dead after ten seconds, and its path is anchored elsewhere', () => {
    const network = new Network();
    assert.deepEqual(network.step(0, ['a', 'b']), ['ab settled', 'ba settled']);
    assert.deepEqual(network.step(100, ['b', 'b']), ['ab settled', 'ba settled']);
    assert.equal(network.anchors.wakeMs, 10_100);
    network.step(10_100, ['b', 'b']);
    assert.ok(network.anchors.isDead('a'));
    assert.deepEqual(network.step(10_101, ['b', 'b']), ['ab draining', 'ba settled']);
    network.anchors.told(7);
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

  it('is trusted again once its tunnels came up after that, not for what they were before', () => {
    const network = new Network();
    network.step(50_000, ['b', 'b']);
    network.step(60_000, ['b', 'b']);
    assert.ok(network.anchors.isDead('a'));
    network.step(61_000, ['b', 'b'], { facts: gateways({ a: { upSinceMs: 40_000 } }) });
    assert.ok(network.anchors.isDead('a'));
    network.step(62_000, ['b', 'b'], { facts: gateways({ a: { upSinceMs: 61_500 } }) });
    assert.ok(!network.anchors.isDead('a'));
  });

  it('is nothing to worry about when it has it again in time', () => {
    const network = new Network();
    network.step(0, ['b', 'b']);
    network.step(9000, ['a', 'b']);
    network.step(10_000, ['a', 'b']);
    assert.ok(!network.anchors.isDead('a'));
    assert.equal(network.anchors.wakeMs, undefined);
  });

  it('holds nothing before BFD to it had time to come up; at the very start there is nothing to wait for', () => {
    const anchors = new Anchors();
    const step = (nowMs: number, holder: string, present: readonly string[]) => {
      const paths = [{ index: 0, present, holder, isRetiring: false }];
      const facts = { paths, gateways: gateways(), hub: connected, nowMs, holdDownMs: 5000 };
      return anchors.step('ts', facts).memories.get(0)?.order.join('');
    };
    assert.equal(step(0, 'a', ['a']), 'a');
    assert.equal(anchors.wakeMs, 5000);
    assert.equal(step(4999, 'a', ['a']), 'a');
    assert.equal(step(5000, 'a', ['a']), 'ab');
    anchors.clear();
    assert.equal(step(6000, '', []), 'ab');
  });

  it('anchors on if it is the last', () => {
    const network = new Network();
    const alone = gateways({ b: { isUsable: false } });
    network.step(0, ['b', 'b'], { facts: alone });
    network.step(10_000, ['b', 'b'], { facts: alone });
    assert.deepEqual(network.step(10_001, ['b', 'b'], { facts: alone })[0], 'ab settled');
  });
});

describe('a gateway that anchors nothing any more', () => {
  it('counts as an anchor for five seconds, and the next step is due when it no longer does', () => {
    const anchors = new Anchors();
    anchors.step('ts', {
      paths: [{ index: 0, present: ['a', 'b'], holder: 'a', isRetiring: false }],
      gateways: gateways(),
      hub: connected,
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
