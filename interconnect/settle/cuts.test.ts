import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  contestants,
  contestMs,
  cutRestMs,
  nextHistory,
  settleCuts,
  type HolderHistory,
  type Pair,
  type PairMemory,
} from './cuts.ts';
import type { GatewayReport, TunnelReport } from '../model/tunnels.ts';

type State = TunnelReport['state'];

const tunnel = (chassis: string, state: State, sinceMs: number): TunnelReport => ({ chassis, state, sinceMs });

/** The report of gateway a about b and about a gateway of another cluster. */
function says(
  chassis: string,
  other: string,
  [state, sinceMs]: readonly [State, number],
  [far, farMs]: readonly [State, number] = ['up', 0],
): GatewayReport {
  return { chassis, tunnels: [tunnel('w1', far, farMs)], siblings: [tunnel(other, state, sinceMs)] };
}

class World {
  reports: readonly GatewayReport[] = [];
  contested: readonly Pair[] = [];
  memories: ReadonlyMap<string, PairMemory> = new Map();

  both(there: readonly [State, number], back: readonly [State, number] = there): void {
    this.reports = [says('a', 'b', there), says('b', 'a', back)];
  }
  /** The pairs that are apart: certain ones, and those that are not with a question mark. */
  step(nowMs: number): readonly string[] {
    const answer = settleCuts({ reports: this.reports, contested: this.contested, before: this.memories, nowMs });
    this.memories = answer.memories;
    this.wakeMs = answer.wakeMs;
    return [...answer.memories.values()].map(
      ({ pair, cutSinceMs }) => pair.join('') + (cutSinceMs === undefined ? '?' : ''),
    );
  }
  wakeMs = Infinity;
}

describe('two gateways are cut off from each other', () => {
  it('when both report it for a second, and each has heard others all the time', () => {
    const world = new World();
    world.both(['down', 10_000], ['init', 10_050]);
    assert.deepEqual(world.step(10_100), ['ab?']);
    assert.equal(world.wakeMs, 11_100);
    assert.deepEqual(world.step(11_099), ['ab?']);
    assert.deepEqual(world.step(11_100), ['ab']);
    assert.equal(world.wakeMs, Infinity);
  });

  it('until both have heard each other for the hold-down', () => {
    const world = new World();
    world.both(['down', 0]);
    world.step(0);
    world.step(1000);
    world.both(['up', 5000], ['init', 0]);
    assert.deepEqual(world.step(5000), ['ab']);
    world.both(['up', 5000]);
    world.step(6000);
    assert.equal(world.wakeMs, 6000 + cutRestMs);
    world.both(['down', 7000]);
    world.step(7000);
    world.both(['up', 8000]);
    world.step(8000);
    assert.deepEqual(world.step(8000 + cutRestMs - 1), ['ab'], 'what flaps rests anew');
    assert.deepEqual(world.step(8000 + cutRestMs), []);
  });

  it('not when one is dead: its report of the other is out of date', () => {
    const world = new World();
    world.both(['up', 0], ['down', 10_000]);
    assert.deepEqual(world.step(60_000), []);
  });

  it('not when one hears no gateway at all, as with a dead ovs-vswitchd or an isolated node', () => {
    const world = new World();
    world.reports = [says('a', 'b', ['down', 10_000], ['down', 10_000]), says('b', 'a', ['down', 10_000])];
    assert.deepEqual(world.step(60_000), []);
    world.contested = [['a', 'b']];
    assert.deepEqual(world.step(60_001), [], 'whatever ports do');
  });

  it('only after a delay when one has begun to hear others since: BFD with the other may still come up', () => {
    const world = new World();
    world.reports = [says('a', 'b', ['down', 10_000], ['up', 10_600]), says('b', 'a', ['down', 9000])];
    world.step(10_600);
    assert.equal(world.wakeMs, 15_600);
    assert.deepEqual(world.step(15_599), ['ab?']);
    assert.deepEqual(world.step(15_600), ['ab']);
  });

  it('not when one of them is no longer a gateway', () => {
    const world = new World();
    world.both(['down', 0]);
    world.step(0);
    world.step(1000);
    world.reports = world.reports.slice(0, 1);
    assert.deepEqual(world.step(2000), []);
  });

  it('two of three, where the third hears both', () => {
    const world = new World();
    const with3 = (report: GatewayReport): GatewayReport => ({
      ...report,
      tunnels: [],
      siblings: [...report.siblings, tunnel('c', 'up', 0)],
    });
    const c: GatewayReport = {
      chassis: 'c',
      tunnels: [],
      siblings: [tunnel('a', 'up', 0), tunnel('b', 'up', 0)],
    };
    world.both(['down', 5000]);
    world.reports = [...world.reports.map(with3), c];
    world.step(5000);
    assert.deepEqual(world.step(6000), ['ab'], 'a gateway that hears one of its own cluster is not cut off');
  });
});

describe('evidence of a cut without reports of daemons', () => {
  it('a contested port is evidence, for a minute after its last change', () => {
    const world = new World();
    world.reports = ['a', 'b'].map((chassis) => ({ chassis, tunnels: [], siblings: [] }));
    world.contested = [['a', 'b']];
    assert.deepEqual(world.step(0), ['ab?']);
    assert.deepEqual(world.step(1000), ['ab']);
    world.contested = [];
    assert.deepEqual(world.step(2000), ['ab']);
    assert.equal(world.wakeMs, 1000 + contestMs);
    assert.deepEqual(world.step(1000 + contestMs), []);
  });

  it('a contested port is no evidence when the daemons report that they hear each other', () => {
    const world = new World();
    world.both(['up', 0]);
    world.contested = [['a', 'b']];
    assert.deepEqual(world.step(0), []);
  });

  it('two gateways without a third one to hear are judged by contested ports, not by their reports', () => {
    const world = new World();
    world.reports = [
      { chassis: 'a', tunnels: [], siblings: [tunnel('b', 'down', 0)] },
      { chassis: 'b', tunnels: [], siblings: [tunnel('a', 'down', 0)] },
    ];
    assert.deepEqual(world.step(60_000), []);
    world.contested = [['a', 'b']];
    world.step(61_000);
    assert.deepEqual(world.step(62_000), ['ab']);
  });

  it('the last report of a silent daemon does not outweigh a contested port', () => {
    const world = new World();
    world.both(['up', 0], ['down', 9000]);
    world.contested = [['a', 'b']];
    world.step(10_000);
    assert.deepEqual(world.step(11_000), ['ab']);
  });
});

describe('a port is contested', () => {
  const after = (holders: readonly string[], everyMs: number): HolderHistory =>
    holders.reduce<HolderHistory>((history, holder, index) => nextHistory(history, holder, index * everyMs), []);
  it('after four changes within three seconds; no failover does that', () => {
    assert.deepEqual(contestants(after(['a', 'b', 'a', 'b'], 500)), [['a', 'b']]);
    assert.deepEqual(contestants(after(['a', 'b', 'a'], 500)), []);
    assert.deepEqual(contestants(after(['a', 'b', 'a', 'b', 'a', 'b'], 1100)), []);
    assert.deepEqual(contestants(after(['a', '', 'a', '', 'a', '', 'a'], 100)), [], 'one that no other gateway has');
  });
  it('between each two of three gateways that claim it', () => {
    assert.deepEqual(contestants(after(['c', 'a', 'b', 'c'], 300)), [
      ['a', 'c'],
      ['b', 'c'],
      ['a', 'b'],
    ]);
  });
});
