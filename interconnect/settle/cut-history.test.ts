import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { TunnelReport, CutReport } from '../model/tunnels.ts';
import { checksUntilSilent, CutHistory, unheldMs } from './cut-history.ts';

const tunnel = (chassis: string, state: TunnelReport['state']): TunnelReport => ({ chassis, state, sinceMs: 0 });

class World {
  readonly cuts = new CutHistory();
  holders: Readonly<Record<string, string>> = { 'ts/0': 'a', 'ts/1': 'b' };
  readonly checks: Record<string, number> = { a: 0, b: 0 };
  deaf: readonly string[] = [];

  report(chassis: string, other: string): CutReport {
    const far = tunnel('w1', this.deaf.includes(chassis) ? 'down' : 'up');
    return { chassis, tunnels: [far], siblings: [tunnel(other, 'down')], checkedAt: String(this.checks[chassis]) };
  }
  step(nowMs: number): readonly string[] {
    const ports = [
      { key: 'ts/0', holder: this.holders['ts/0'] ?? '', anchor: 'a' },
      { key: 'ts/1', holder: this.holders['ts/1'] ?? '', anchor: 'b' },
    ];
    const { lost } = this.cuts.step({ reports: [this.report('a', 'b'), this.report('b', 'a')], ports, nowMs });
    return [...lost];
  }
  /** Checks of one daemon, each reported separately. */
  hear(chassis: string, times: number, nowMs: number): readonly string[] {
    let lost: readonly string[] = [];
    for (let time = 0; time < times; time++) {
      this.checks[chassis] = (this.checks[chassis] ?? 0) + 1;
      lost = this.step(nowMs);
    }
    return lost;
  }
}

/** Two that are certain to be cut off. */
function cutWorld(): World {
  const world = new World();
  world.step(0);
  world.step(1000);
  assert.deepEqual(
    world.cuts.view.cuts.map(({ pair, sinceMs }) => [...pair, sinceMs]),
    [['a', 'b', 1000]],
  );
  return world;
}

describe('a gateway that is cut off is lost', () => {
  it('when its daemon is silent while the other daemon reports; not when both are silent', () => {
    const world = cutWorld();
    assert.deepEqual(world.step(60_000), []);
    assert.deepEqual(world.hear('b', checksUntilSilent - 1, 61_000), []);
    assert.deepEqual(world.hear('b', 1, 64_000), ['a']);
    assert.deepEqual(world.hear('a', 1, 65_000), []);
  });
  it('not after an outage of the API server, whichever daemon reports first', () => {
    const world = cutWorld();
    for (let round = 0; round < 5; round++) {
      assert.deepEqual(world.hear('a', 1, 10_000 + round), []);
      assert.deepEqual(world.hear('b', 1, 10_000 + round), []);
    }
  });
  it('when it no longer hears any gateway', () => {
    const world = cutWorld();
    world.deaf = ['a'];
    assert.deepEqual(world.step(2000), ['a']);
    world.deaf = [];
    assert.deepEqual(world.step(3000), []);
  });
  it('not if there is no third gateway that it could hear', () => {
    const world = cutWorld();
    world.report = (chassis, other) => ({
      chassis,
      tunnels: [],
      siblings: [tunnel(other, 'down')],
      checkedAt: undefined,
    });
    assert.deepEqual(world.step(2000), []);
    assert.equal(world.cuts.view.cuts.length, 1);
  });
  it('when it does not claim the port that it anchors', () => {
    const world = cutWorld();
    world.holders = { 'ts/0': '', 'ts/1': 'b' };
    assert.deepEqual(world.step(2000), []);
    assert.equal(world.cuts.wakeMs, 2000 + unheldMs);
    world.holders = { 'ts/0': 'a', 'ts/1': 'b' };
    assert.deepEqual(world.step(3000), []);
    world.holders = { 'ts/0': 'b', 'ts/1': 'b' };
    world.step(4000);
    assert.deepEqual(world.step(4000 + unheldMs), ['a']);
  });
});

it('gateways that hear each other are not lost when their daemons are silent or absent', () => {
  const world = new World();
  world.report = (chassis, other) => ({
    chassis,
    tunnels: [tunnel('w1', 'up')],
    siblings: [tunnel(other, 'up')],
    checkedAt: undefined,
  });
  world.holders = { 'ts/0': 'b', 'ts/1': 'b' };
  world.step(0);
  assert.deepEqual(world.step(60_000), []);
  assert.deepEqual(world.cuts.view.cuts, []);
  assert.equal(world.cuts.wakeMs, Infinity);
});

it('a port that changed its gateway four times within three seconds is contested', () => {
  const world = new World();
  world.report = (chassis) => ({ chassis, tunnels: [], siblings: [], checkedAt: undefined });
  for (const [index, holder] of ['a', 'b', 'a', 'b', 'a'].entries()) {
    world.holders = { 'ts/0': holder, 'ts/1': 'b' };
    world.step(index * 500);
  }
  assert.deepEqual(
    world.cuts.view.cuts.map(({ sinceMs }) => sinceMs),
    [undefined],
  );
  world.step(2500);
  assert.deepEqual(
    world.cuts.view.cuts.map(({ sinceMs }) => sinceMs),
    [2500],
  );
});
