import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { RemoteCluster, Snapshot } from '../model/snapshot.ts';
import { wellPair } from '../testing-snapshots.ts';
import { listRoutes } from './routes.ts';
import { explainRoute, parseTarget, type Why } from './why.ts';

const sampled = { prefix: '10.17.0.0/16', transitSwitch: 'ts', nextHop: '100.100.0.2', state: 'Active' as const };
const prefixes: RemoteCluster['prefixes'] = [
  { prefix: '10.17.0.0/16', transitSwitch: 'ts', state: 'Active' },
  { prefix: '10.18.0.0/16', transitSwitch: 'ts', state: 'Active' },
  {
    prefix: '10.19.0.0/16',
    transitSwitch: 'ts',
    state: 'Rejected',
    reason: 'Denied',
    message: '10.19.0.0/16 is denied',
  },
  { prefix: '10.32.0.0/12', transitSwitch: 'ts', state: 'Unlisted' },
];
const counts = { routesActive: 2, routesBackup: 0, routesRejected: 1 };

function cluster(status: RemoteCluster['status']): Snapshot {
  const { east } = wellPair();
  const remotes = [{ name: 'west', status: { ...east.remotes[0]?.status, ...status }, prefixes }];
  return { ...east, remotes };
}

describe('routes of other clusters', () => {
  it('are all of the slices; next hops are known of those that the status shows', () => {
    const { routes, unlisted } = listRoutes(cluster({ routes: [sampled], ...counts }), undefined);
    assert.deepEqual(
      routes.map(({ prefix, state, nextHop }) => `${prefix} ${state} ${nextHop}`),
      ['10.17.0.0/16 Active 100.100.0.2', '10.18.0.0/16 Active ', '10.19.0.0/16 Rejected '],
    );
    assert.equal(unlisted, 0);
  });

  it('are counted if slices have no room for them', () => {
    const { unlisted } = listRoutes(
      cluster({ routes: [sampled], ...counts, routesActive: 9, routesBackup: 2 }),
      undefined,
    );
    assert.equal(unlisted, 9);
  });

  it('that the status does not show are why an address is reached, or is not', () => {
    const east = cluster({ routes: [sampled], ...counts });
    const why = (text: string): Why => {
      const target = parseTarget(text);
      assert.ok(target);
      return explainRoute(east, target, undefined);
    };
    const reached = why('10.18.3.4');
    assert.equal(reached.answer, 'Reached');
    assert.equal(reached.sentence, '10.18.3.4 has a route to cluster west by 10.18.0.0/16, on ts');
    const refused = why('10.19.3.4');
    assert.equal(refused.answer, 'NotReached');
    assert.equal(refused.candidates[0]?.why, '10.19.0.0/16 is denied');
  });
});
