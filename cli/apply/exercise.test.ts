import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Check } from '../plan/verify.ts';
import type { Snapshot } from '../model/snapshot.ts';
import { wellPair, type Draft } from '../testing-snapshots.ts';
import { drainable, exerciseGateways } from './exercise.ts';

const signal = new AbortController().signal;

/** A cluster whose agent moves paths one reading after a drain, and back one reading after its end. */
class FakeCluster {
  readonly east: Draft<Snapshot> = wellPair().east;
  readonly calls: string[] = [];
  isDead = false;
  isCut = false;
  failAfter = Infinity;
  #looks = 0;

  look = (): Promise<Snapshot> => {
    this.#looks += 1;
    if (this.#looks > this.failAfter) return Promise.reject(new Error('the API server is gone'));
    if (!this.isDead) this.#follow();
    return Promise.resolve(structuredClone(this.east));
  };
  drain = (node: string, drain: boolean): Promise<void> => {
    this.calls.push(`${node} ${drain}`);
    for (const gateway of this.east.gateways) if (gateway.node === node) gateway.isDrained = drain;
    return Promise.resolve();
  };
  note = (): void => undefined;

  #follow(): void {
    const drained = new Set(this.east.gateways.filter(({ isDrained }) => isDrained).map(({ node }) => node));
    const own = (path: number) => `e${path + 1}`;
    for (const path of this.east.transitSwitches[0]?.status.paths ?? []) {
      const holder = drained.has(own(path.path)) ? own(1 - path.path) : own(path.path);
      Object.assign(path, { holder, gateways: [holder], state: 'Settled' });
    }
    for (const gateway of this.east.gateways)
      gateway.status.paths = drained.has(gateway.node) ? [] : (gateway.status.paths ?? []);
    for (const path of this.east.remotes[0]?.status.paths ?? [])
      path.state = this.isCut && drained.size > 0 ? 'Down' : 'Up';
  }
}

async function exercise(cluster: FakeCluster, timeoutMs = 30): Promise<readonly Check[]> {
  return await exerciseGateways(cluster, drainable(cluster.east), { timeoutMs, signal, pauseMs: 1 });
}

describe('draining each gateway in turn', () => {
  it('returns each gateway before the next, and passes if a path stayed up', async () => {
    const cluster = new FakeCluster();
    const checks = await exercise(cluster, 2000);
    assert.deepEqual(cluster.calls, ['e1 true', 'e1 false', 'e2 true', 'e2 false']);
    assert.deepEqual(
      checks.map(({ cluster: label, name, isWell }) => [label, name, isWell]),
      [
        ['east', 'drain of e1', true],
        ['east', 'drain of e2', true],
      ],
    );
  });

  it('reports clusters to which every path was down meanwhile', async () => {
    const cluster = new FakeCluster();
    cluster.isCut = true;
    const [first] = await exercise(cluster, 2000);
    assert.equal(first?.isWell, false);
    assert.match(first.evidence, /every path was down to west/);
  });

  it('reports paths that do not move in time, and returns the gateway', async () => {
    const cluster = new FakeCluster();
    cluster.isDead = true;
    const [first] = await exercise(cluster);
    assert.match(first?.evidence ?? '', /paths moved: not in time/);
    assert.equal(
      cluster.east.gateways.some(({ isDrained }) => isDrained),
      false,
    );
  });

  it('returns the gateway if the observation fails', async () => {
    const cluster = new FakeCluster();
    cluster.failAfter = 0;
    await assert.rejects(exercise(cluster), /the API server is gone/);
    assert.deepEqual(cluster.calls, ['e1 true', 'e1 false']);
  });

  it('does not start with a single gateway, or with a gateway that a user drained', () => {
    const { east } = wellPair();
    assert.deepEqual(drainable(east), ['e1', 'e2']);
    assert.ok(east.gateways[0]);
    east.gateways[0].isDrained = true;
    assert.deepEqual(drainable(east), []);
    assert.deepEqual(drainable({ ...east, gateways: east.gateways.slice(1) }), []);
  });
});
