import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isUnreachable, noMemory, settlePaths, usablePaths, type PathFacts, type PathMemory } from './paths.ts';

const time = { nowMs: 0, holdDownMs: 5000 };
const path = (index: number, fields: Partial<PathFacts> = {}): PathFacts => ({
  network: 'ts',
  index,
  switch: index === 0 ? 'ts' : `ts${index}`,
  isRetiring: false,
  local: { order: ['a1', 'a2'], holder: 'a1', isDraining: false },
  remote: { order: ['b1', 'b2'], holder: 'b1', isDraining: false },
  refused: new Map(),
  tunnelTo: () => 'up',
  ...fields,
});
const down = { tunnelTo: () => 'down' };

class Cluster {
  memory: PathMemory = noMemory;
  look(nowMs: number, facts: readonly PathFacts[]) {
    const answer = settlePaths(facts, this.memory, { nowMs, holdDownMs: 5000 });
    this.memory = answer.memory;
    return {
      states: answer.verdicts.map(({ state, reason }) => (reason === '' ? state : `${state} ${reason}`)),
      used: [...usablePaths(answer.verdicts, 'ts')],
      wakeMs: answer.wakeMs,
    };
  }
}

describe('a path', () => {
  const verdict = (fields: Partial<PathFacts>) => {
    const [first] = settlePaths([path(0, fields), path(1)], noMemory, time).verdicts;
    return `${first?.state} ${first?.reason}`;
  };
  it('is up when both anchors hold their ports and the tunnel is not reported down', () => {
    assert.equal(verdict({}), 'Up ');
    assert.equal(verdict({ tunnelTo: () => undefined }), 'Up ');
    assert.equal(verdict({ tunnelTo: () => 'unknown' }), 'Up ');
  });
  it('is down when the tunnel to the other anchor is down, also if only the answers are lost', () => {
    assert.equal(verdict(down), 'Down TunnelDown');
    assert.equal(verdict({ tunnelTo: () => 'init' }), 'Down TunnelDown');
    assert.equal(verdict({ tunnelTo: (chassis) => (chassis === 'b2' ? 'down' : 'up') }), 'Up ');
  });
  it('is moving, and names both forwarding gateways, while another gateway replaces an anchor that is not heard', () => {
    const facts = { tunnelTo: (chassis: string) => (chassis === 'b1' ? 'down' : 'up') };
    const stoodIn = { order: ['b1', 'b2'], holder: 'b1', isDraining: false };
    for (const remote of [stoodIn, { ...stoodIn, holder: 'b2' }]) {
      const [first] = settlePaths([path(0, { ...facts, remote }), path(1)], noMemory, time).verdicts;
      assert.deepEqual(
        [first?.state, first?.reason, first?.localGateway, first?.remoteGateway, first?.bfd],
        ['Moving', 'FailedOver', 'a1', 'b2', 'up'],
      );
      assert.match(
        first?.message ?? '',
        /b1 of the other cluster sends nothing that reaches a1; b2 forwards for ts instead of that gateway/,
      );
    }
  });
  it('is down when the other anchor or holder is a refused gateway, whatever the state of its tunnel', () => {
    const refused = new Map([['b1', { code: 'DuplicateEncap', message: 'm' }]]);
    const unknown = { refused, tunnelTo: () => undefined };
    assert.equal(verdict(unknown), 'Down DuplicateEncap');
    assert.equal(verdict({ refused }), 'Down DuplicateEncap');
    const order = ['b2', 'b1'];
    assert.equal(verdict({ ...unknown, remote: { order, holder: 'b1', isDraining: false } }), 'Down DuplicateEncap');
    assert.equal(verdict({ ...unknown, remote: { order, holder: 'b2', isDraining: false } }), 'Up ');
  });
  it('moves or drains while either side does', () => {
    const local = path(0).local;
    const remote = path(0).remote;
    assert.equal(verdict({ isRetiring: true }), 'Draining Retiring');
    assert.equal(verdict({ local: { ...local, isDraining: true } }), 'Draining LocalDrain');
    assert.equal(verdict({ remote: { ...remote, isDraining: true } }), 'Draining RemoteDrain');
    assert.equal(verdict({ local: { ...local, holder: 'a2' } }), 'Moving FailedOver');
    assert.equal(verdict({ remote: { ...remote, holder: 'b2' } }), 'Moving FailedOver');
    assert.equal(verdict({ remote: { ...remote, holder: '' } }), 'Moving Unclaimed');
    assert.equal(verdict({ local: { ...local, holder: '' } }), 'Moving Unclaimed');
  });
});

describe('the routes use', () => {
  it('all paths of a new cluster at once', () => {
    const cluster = new Cluster();
    assert.deepEqual(cluster.look(0, [path(0), path(1, down)]), {
      states: ['Up', 'Down TunnelDown'],
      used: ['ts'],
      wakeMs: undefined,
    });
    assert.deepEqual(cluster.look(300, [path(0), path(1)]).used, ['ts', 'ts1']);
  });

  it('a recovered path only after its hold-down', () => {
    const cluster = new Cluster();
    cluster.look(0, [path(0), path(1)]);
    assert.deepEqual(cluster.look(10_000, [path(0), path(1, down)]).used, ['ts']);
    assert.deepEqual(cluster.look(20_000, [path(0), path(1)]), {
      states: ['Up', 'HoldDown HoldDown'],
      used: ['ts'],
      wakeMs: 25_000,
    });
    cluster.look(22_000, [path(0), path(1, down)]);
    assert.equal(cluster.look(23_000, [path(0), path(1)]).wakeMs, 28_000, 'a relapse begins anew');
    assert.deepEqual(cluster.look(28_000, [path(0), path(1)]), {
      states: ['Up', 'Up'],
      used: ['ts', 'ts1'],
      wakeMs: undefined,
    });
  });

  it('a path in hold-down or draining if no better path is left, never a path that is down', () => {
    const cluster = new Cluster();
    cluster.look(0, [path(0), path(1)]);
    cluster.look(10_000, [path(0), path(1, down)]);
    assert.deepEqual(cluster.look(11_000, [path(0, down), path(1)]).used, ['ts1']);
    const draining = { local: { ...path(0).local, isDraining: true } };
    assert.deepEqual(cluster.look(12_000, [path(0, draining), path(1, down)]).used, ['ts']);
    assert.deepEqual(cluster.look(13_000, [path(0, draining), path(1, draining)]).used, ['ts', 'ts1']);
    assert.deepEqual(cluster.look(14_000, [path(0, down), path(1, down)]).used, []);
  });

  it('a backup of the other side if its anchors cannot be reached at all', () => {
    const partial = { tunnelTo: (chassis: string) => (chassis === 'b1' ? 'down' : 'up') };
    const { verdicts } = settlePaths([path(0, partial), path(1, down)], noMemory, time);
    assert.deepEqual([...usablePaths(verdicts, 'ts')], ['ts']);
    assert.equal(isUnreachable(verdicts), false);
    assert.equal(isUnreachable(settlePaths([path(0, down), path(1, down)], noMemory, time).verdicts), true);
    assert.equal(isUnreachable([]), false);
  });

  it('neither a path nor a backup of a refused gateway', () => {
    const refused = new Map([['b1', { code: 'DuplicateEncap', message: 'm' }]]);
    const remote = { order: ['b2', 'b1'], holder: 'b2', isDraining: false };
    const used = (facts: readonly PathFacts[]) => {
      const { verdicts } = settlePaths(facts, noMemory, time);
      return [[...usablePaths(verdicts, 'ts')], isUnreachable(verdicts)];
    };
    assert.deepEqual(used([path(0, { refused }), path(1, { refused, remote })]), [['ts1'], false]);
    const tunnelTo = (chassis: string) => (chassis === 'b2' ? 'down' : undefined);
    assert.deepEqual(used([path(0, { refused }), path(1, { refused, remote, tunnelTo })]), [[], true]);
  });

  it('the same paths while ports flap between gateways: a flapping path stays in hold-down, and is used if no other is left', () => {
    const cluster = new Cluster();
    cluster.look(0, [path(0), path(1)]);
    const away = { local: { ...path(0).local, holder: 'a2' } };
    const looks = [1000, 1500, 2000, 2500, 3000].map((nowMs, at) =>
      cluster.look(nowMs, at % 2 === 0 ? [path(0, away), path(1, away)] : [path(0), path(1)]),
    );
    assert.deepEqual(
      looks.map(({ used }) => used),
      looks.map(() => ['ts', 'ts1']),
    );
    assert.deepEqual(looks[1]?.states, ['HoldDown HoldDown', 'HoldDown HoldDown']);
    assert.deepEqual(cluster.look(4000, [path(0), path(1)]).states, ['HoldDown HoldDown', 'HoldDown HoldDown']);
    assert.deepEqual(cluster.look(9000, [path(0), path(1)]).states, ['Up', 'Up']);
  });

  it('after a restart the paths that carried traffic before it', () => {
    const memory = {
      wellSinceMs: new Map([
        ['ts', -Infinity],
        ['ts1', -Infinity],
      ]),
      upSinceMs: -Infinity,
      lostMs: undefined,
    };
    const { verdicts, wakeMs } = settlePaths([path(0), path(1)], memory, time);
    assert.deepEqual([[...usablePaths(verdicts, 'ts')], wakeMs], [['ts', 'ts1'], undefined]);
  });
});
