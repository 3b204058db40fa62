import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { pathsThrough } from '../apply/drain.ts';
import { policyOf, spoil, wellPair, type Pair } from '../testing-snapshots.ts';
import { distributions, pathFigures } from './bench.ts';
import { verify } from './verify.ts';

function failed(change: (pair: Pair) => void, isAlone = false): readonly string[] {
  const pair = wellPair();
  change(pair);
  return verify(pair.east, isAlone ? undefined : pair.west)
    .filter(({ isWell }) => !isWell)
    .map(({ cluster, name, evidence }) => `${cluster} ${name}: ${evidence}`);
}

const rowOf = (owner: string) => ({ database: 'NB' as const, table: 'Logical_Router_Static_Route', owner });
const ovn = (...owners: string[]) => ({
  silent: [],
  isNorthdCurrent: true,
  chassis: [],
  holders: new Map(),
  interconnectRows: owners.map(rowOf),
});

describe('verification', () => {
  it('passes for two healthy clusters', () => {
    assert.deepEqual(
      failed(() => undefined),
      [],
    );
    assert.ok(verify(wellPair().east, wellPair().west).length > 30);
  });

  it('requires a leading agent, because it writes the conditions', () => {
    assert.deepEqual(
      failed(({ east }) => Object.assign(east, { lease: undefined, workloads: [] })),
      ['east agent: no agent has ever been the leader here: there is no Lease kube-system/isthmus-interconnect'],
    );
    assert.deepEqual(
      failed(({ east }) => Object.assign(east.lease ?? {}, { holder: '' })),
      ['east agent: no agent leads: the last one gave up the lease'],
    );
  });

  it('requires every condition to be True', () => {
    assert.deepEqual(
      failed(({ east }) => spoil(east, 'DataplaneProtected', 'OnePathLeft', 'one path only')),
      ['east DataplaneProtected: one path only'],
    );
  });

  it('requires each side to use the offers of the other', () => {
    const found = failed(({ west }) => {
      const [route] = west.remotes[0]?.status.routes ?? [];
      Object.assign(route ?? {}, { state: 'Rejected', reason: 'Overlap' });
    });
    assert.deepEqual(found, ['east 10.16.0.0/16 (ovn-default): not in use at west: Overlap']);
    assert.deepEqual(
      failed(({ east }) => Object.assign(east.remotes[0]?.status ?? {}, { routes: [] })),
      ['west 10.17.0.0/16 (ovn-default): not in use at east: not received'],
    );
    assert.deepEqual(
      failed(({ east }) => {
        for (const route of east.remotes[0]?.status.routes ?? []) Object.assign(route, { prefix: '10.0.0.0/8' });
      }),
      [],
      'as part of an aggregate',
    );
  });

  it('accepts prefixes that a policy withholds or rejects', () => {
    const export_ = policyOf('secret', { direction: 'Export', rules: [{ action: 'Deny' }] });
    const unheard = ({ west }: Pair): void => void Object.assign(west.remotes[0]?.status ?? {}, { routes: [] });
    const keptBack = (pair: Pair): void => {
      unheard(pair);
      pair.east.policies = [export_];
    };
    assert.deepEqual(failed(keptBack), []);
    assert.deepEqual(failed(unheard).length, 1);
    const refused = failed(({ west }) => {
      for (const route of west.remotes[0]?.status.routes ?? [])
        Object.assign(route, { state: 'Rejected', reason: 'Denied', message: 'denied by p' });
    });
    assert.deepEqual(refused, []);
  });

  it('requires held ports, and paths and tunnels that are up', () => {
    const found = failed(({ east }) => {
      Object.assign(east.transitSwitches[0]?.status.paths?.[1] ?? {}, { holder: 'e1', state: 'FailedOver' });
      Object.assign(east.remotes[0]?.status.paths?.[1] ?? {}, { state: 'Moving' });
      Object.assign(east.gateways[1]?.status.tunnels?.[0] ?? {}, {
        state: 'down',
        diagnostic: 'Control Detection Time Expired',
      });
    }, true);
    assert.deepEqual(found, [
      'east port ts/1: e1 holds it, FailedOver',
      'east paths to west: ts/1 Moving',
      'east tunnel e2 – west/w1: down: Control Detection Time Expired',
    ]);
  });

  it('finds rows of removed clusters', () => {
    const owners = ['interconnect/remote/west/ts', 'interconnect/remote/north', 'interconnect/zone'];
    assert.deepEqual(
      failed(({ east }) => (east.ovn = ovn(...owners)), true),
      ['east rows left over: 1 row: interconnect/remote/north in NB Logical_Router_Static_Route'],
    );
    const left = failed(({ east }) => Object.assign(east, { interconnect: undefined, ovn: ovn(...owners) }), true);
    assert.match(left.join('\n'), /rows left over: 3 rows/);
  });
});

describe('what leads through a gateway', () => {
  it('is what it holds, by its own word or by the networks’', () => {
    const { east } = wellPair();
    const [first] = east.gateways;
    assert.ok(first);
    assert.deepEqual(pathsThrough(east, first), ['ts/0']);
    first.status.paths = [];
    assert.deepEqual(pathsThrough(east, first), ['ts/0']);
    Object.assign(east.transitSwitches[0]?.status.paths?.[0] ?? {}, {
      holder: 'e2',
      gateways: ['e2', 'e1'],
      state: 'Moving',
    });
    assert.deepEqual(pathsThrough(east, first), []);
  });

  it('is also what has not settled elsewhere', () => {
    const { east } = wellPair();
    const [first] = east.gateways;
    assert.ok(first);
    first.status.paths = [];
    Object.assign(east.transitSwitches[0]?.status.paths?.[0] ?? {}, {
      holder: 'e2',
      gateways: ['e1', 'e2'],
      state: 'Draining',
    });
    assert.deepEqual(pathsThrough(east, first), ['ts/0']);
  });
});

describe('figures', () => {
  it('of paths are those of the probes', () => {
    const [first] = pathFigures(wellPair().east);
    assert.deepEqual(
      [first?.from, first?.to, first?.rttMs?.avg, first?.mtu, first?.wantedMtu],
      ['east/e1', 'west/w1', 0.71, 1500, 1500],
    );
  });

  it('of agents add up label sets and find the bucket of a rank', () => {
    const name = 'isthmus_interconnect_route_convergence_seconds';
    const samples = [
      ['a', '0.1', 50],
      ['a', '0.5', 90],
      ['a', '+Inf', 90],
      ['b', '0.1', 0],
      ['b', '0.5', 8],
      ['b', '+Inf', 10],
    ].map(([cluster = '', le = '', value]) => ({
      name: `${name}_bucket`,
      labels: { cluster: String(cluster), le: String(le) },
      value: Number(value),
    }));
    const found = distributions([
      ...samples,
      { name: `${name}_sum`, labels: { cluster: 'a' }, value: 9 },
      { name: `${name}_sum`, labels: { cluster: 'b' }, value: 1 },
      { name: `${name}_count`, labels: { cluster: 'a' }, value: 90 },
      { name: `${name}_count`, labels: { cluster: 'b' }, value: 10 },
      { name: 'isthmus_interconnect_empty_seconds_bucket', labels: { le: '+Inf' }, value: 0 },
    ]);
    assert.deepEqual(found, [{ name: 'route_convergence_seconds', count: 100, mean: 0.1, p50: 0.1, p99: Infinity }]);
  });
});
