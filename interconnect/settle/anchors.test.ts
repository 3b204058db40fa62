import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { assignAnchors, settleAnchors, type AnchorMemory, type AnchorPath, type AnchorInput } from './anchors.ts';
import type { Cut } from './cuts.ts';

describe('which gateway anchors which path', () => {
  const assign = (anchors: readonly (string | undefined)[], eligible: readonly string[]) => {
    const paths = anchors.map((anchor, index) => ({ index, anchor }));
    const targets = assignAnchors(paths, eligible);
    return paths.flatMap(({ index }) => targets.get(index) ?? []);
  };
  it('paths have different gateways if there are enough, and share gateways otherwise', () => {
    assert.deepEqual(assign([undefined, undefined], ['a', 'b', 'c']), ['a', 'b']);
    assert.deepEqual(assign([undefined, undefined, undefined], ['a', 'b']), ['a', 'b', 'a']);
    assert.deepEqual(assign([undefined, undefined], ['a']), ['a', 'a']);
  });
  it('the choice keeps good anchors and changes as few as possible', () => {
    assert.deepEqual(assign(['c', 'a'], ['a', 'b', 'c']), ['c', 'a']);
    assert.deepEqual(assign(['a', 'a'], ['a', 'b']), ['a', 'b']);
    assert.deepEqual(assign(['gone', 'a'], ['a', 'b']), ['b', 'a']);
    assert.deepEqual(assign(['a', 'b'], []), []);
  });
});

/** Two gateways and two paths, whose state a test sets. */
class World {
  nowMs = 0;
  eligible = ['a', 'b'];
  gone: string[] = [];
  all = ['a', 'b'];
  isHubConnected = true;
  isAnnounced = false;
  holders = ['a', 'b'];
  retiring = [false, false];
  cuts: readonly Cut[] = [];
  present: readonly (readonly string[])[] = [
    ['a', 'b'],
    ['b', 'a'],
  ];
  memories: ReadonlyMap<number, AnchorMemory> = new Map();

  step(atMs = this.nowMs) {
    this.nowMs = atMs;
    const paths = this.present.map((present, index): AnchorPath => ({
      index,
      present,
      memory: this.memories.get(index),
      holder: this.holders[index] ?? '',
      isRetiring: this.retiring[index] === true,
      isDrainAnnounced: this.isAnnounced,
    }));
    const question: AnchorInput = {
      paths,
      gateways: this.all.map((chassis) => ({
        chassis,
        isEligible: this.eligible.includes(chassis),
        isGone: this.gone.includes(chassis),
      })),
      cuts: this.cuts,
      isHubConnected: this.isHubConnected,
      isFollowed: true,
      nowMs: this.nowMs,
      holdDownMs: 5000,
    };
    const answer = settleAnchors(question);
    this.memories = answer.memories;
    return answer;
  }
  get phases() {
    return [...this.memories.values()].map(({ phase }) => phase);
  }
  get orders() {
    return [...this.memories.values()].map(({ order }) => order.join(''));
  }
}

describe('an anchor moves', () => {
  it('not at all after a start with a correct database, whatever the order of gateways', () => {
    const world = new World();
    world.present = [
      ['b', 'a'],
      ['a', 'b'],
    ];
    world.holders = ['b', 'a'];
    const answer = world.step();
    assert.deepEqual(world.orders, ['ba', 'ab']);
    assert.deepEqual(world.phases, ['settled', 'settled']);
    assert.equal(answer.wakeMs, undefined);
  });

  it('after its path drained and the other clusters know; the other path waits for the hold-down of this path', () => {
    const world = new World();
    world.eligible = ['b'];
    world.step(0);
    assert.deepEqual(
      [world.phases, world.orders],
      [
        ['draining', 'settled'],
        ['ab', 'ba'],
      ],
    );
    world.step(3000);
    assert.deepEqual(world.orders, ['ab', 'ba'], 'nothing moves before the hub has told the others');
    world.isAnnounced = true;
    assert.equal(world.step(4000).wakeMs, 5500);
    world.step(5499);
    assert.deepEqual(world.phases, ['draining', 'settled']);
    world.step(5500);
    assert.deepEqual(
      [world.phases, world.orders],
      [
        ['moving', 'settled'],
        ['ba', 'ba'],
      ],
    );
    world.step(5600);
    assert.deepEqual(world.phases, ['moving', 'settled']);
    world.holders = ['b', 'b'];
    world.step(5700);
    assert.deepEqual(world.phases, ['settled', 'settled']);
  });

  it('one at a time, with the hold-down of the first in between', () => {
    const world = new World();
    world.all = ['a', 'b', 'c', 'd'];
    world.eligible = ['c', 'd'];
    world.isAnnounced = true;
    world.step(0);
    world.step(1);
    world.step(1600);
    assert.deepEqual(world.phases, ['moving', 'settled']);
    assert.equal(world.orders[0]?.[0], 'c');
    world.holders = ['c', 'b'];
    assert.equal(world.step(1700).wakeMs, 7700);
    assert.deepEqual(world.phases, ['settled', 'settled']);
    world.step(7699);
    assert.deepEqual(world.phases, ['settled', 'settled']);
    world.step(7700);
    assert.deepEqual(world.phases, ['settled', 'draining']);
  });

  it('not without the hub, which is reported; a gateway that is gone is replaced all the same', () => {
    const world = new World();
    world.eligible = ['b'];
    world.isHubConnected = false;
    const { blocked } = world.step(0);
    assert.deepEqual(world.phases, ['settled', 'settled']);
    assert.match(blocked.get(0) ?? '', /waits for the hub/);
    world.gone = ['a'];
    world.holders = ['b', 'b'];
    world.step(1);
    assert.deepEqual(world.orders, ['ba', 'ba']);
    world.all = ['b'];
    world.step(2);
    assert.deepEqual(world.orders, ['b', 'b']);
  });

  it('to the next gateway of its order when its chassis is gone, because both sides already send there', () => {
    const world = new World();
    world.all = ['a', 'b', 'c'];
    world.eligible = ['b', 'c'];
    world.gone = ['a'];
    world.isHubConnected = false;
    world.present = [
      ['a', 'b', 'c'],
      ['b', 'c', 'a'],
    ];
    world.step(0);
    assert.deepEqual(world.orders, ['bca', 'bca']);
    world.isHubConnected = true;
    world.holders = ['b', 'b'];
    world.step(1);
    assert.deepEqual(world.phases, ['settled', 'draining'], 'the rest goes by plan');
    world.gone = [];
    world.eligible = ['a', 'b', 'c'];
    world.step(2);
    assert.deepEqual(world.orders, ['bca', 'bca'], 'one that returns takes nothing over');
  });

  it('at once where no other path could carry its traffic', () => {
    const world = new World();
    world.present = [['a', 'b']];
    world.eligible = ['b'];
    world.step(0);
    assert.deepEqual([world.phases, world.orders], [['moving'], ['ba']]);
  });

  it('not if the move is no longer wanted before it began', () => {
    const world = new World();
    world.eligible = ['b'];
    world.step(0);
    world.eligible = ['a', 'b'];
    world.step(100);
    assert.deepEqual(
      [world.phases, world.orders],
      [
        ['settled', 'settled'],
        ['ab', 'ba'],
      ],
    );
  });

  it('without waiting for a path that cannot recover by itself', () => {
    const world = new World();
    world.eligible = ['b'];
    world.holders = ['a', ''];
    world.step(0);
    assert.deepEqual(world.phases, ['draining', 'settled']);
  });

  it('new paths get an anchor at once, on the gateway with the fewest paths', () => {
    const world = new World();
    world.all = ['a', 'b', 'c'];
    world.eligible = ['a', 'b', 'c'];
    world.present = [['a', 'b', 'c'], ['b', 'a', 'c'], []];
    world.holders = ['a', 'b', ''];
    world.step(0);
    assert.deepEqual(world.orders, ['abc', 'bac', 'cab']);
    assert.deepEqual(world.phases, ['settled', 'settled', 'settled']);
  });

  it('a retiring path keeps its anchor', () => {
    const world = new World();
    world.eligible = ['b'];
    world.retiring = [true, false];
    world.step(0);
    assert.deepEqual(
      [world.phases, world.orders],
      [
        ['settled', 'settled'],
        ['ab', 'ba'],
      ],
    );
  });

  it('a second gateway joins a path that drains; the others follow when BFD had time to come up', () => {
    const world = new World();
    world.all = ['a'];
    world.eligible = ['a'];
    world.present = [['a'], ['a']];
    world.holders = ['a', 'a'];
    world.isAnnounced = true;
    world.step(0);
    world.all = ['a', 'b'];
    world.eligible = ['a', 'b'];
    world.step(1);
    assert.deepEqual(
      [world.phases, world.orders],
      [
        ['draining', 'settled'],
        ['a', 'a'],
      ],
    );
    world.step(2);
    world.step(1600);
    assert.deepEqual(
      [world.phases, world.orders],
      [
        ['moving', 'settled'],
        ['ab', 'a'],
      ],
    );
    world.step(1700);
    assert.deepEqual(world.phases, ['settled', 'settled']);
    world.step(4700);
    assert.deepEqual(world.orders, ['ab', 'ab']);
    world.step(7700);
    assert.deepEqual(world.phases, ['settled', 'draining']);
  });

  it('a new gateway joins the end of every order', () => {
    const world = new World();
    world.step(0);
    world.all = ['a', 'b', 'c'];
    world.eligible = ['a', 'b', 'c'];
    world.step(1);
    assert.deepEqual(world.orders, ['abc', 'bac']);
  });
});
