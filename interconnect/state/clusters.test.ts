import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { HubUpdate } from '../model/messages.ts';
import type { GatewayObject } from '../model/objects.ts';
import { west } from '../model/testing.ts';
import { Clusters } from './clusters.ts';

const update: HubUpdate = {
  revision: 1,
  full: true,
  transitSwitches: [],
  members: [west],
  removed: [],
  rejections: [],
  expected: [],
  silentDatabases: [],
  unreachedBy: [],
  tellsUnreached: true,
  carriesExports: true,
  carriesPods: true,
  takesPaths: true,
};

function gateway(state: 'up' | 'down'): GatewayObject {
  return {
    uid: 'u',
    isDeleting: false,
    finalizers: [],
    isMadeByAgent: true,
    isDrained: false,
    status: { chassis: 'a1' },
    tunnels: [{ chassis: 'b1', address: '172.30.2.11', state }],
    probes: [],
    siblingTunnels: [],
    checkedAt: undefined,
  };
}

describe('the known clusters', () => {
  it('are all dirty at first, then those that an update or a tunnel concerns', () => {
    const clusters = new Clusters();
    clusters.hubUpdated(update, 0);
    assert.equal(clusters.takeDirty(), 'all');
    assert.deepEqual(clusters.takeDirty(), new Set());
    clusters.hubUpdated({ ...update, full: false }, 0);
    assert.deepEqual(clusters.takeDirty(), new Set(['west']));
    const [up, down] = [gateway('up'), gateway('down')];
    clusters.setGateway('n1', undefined, up);
    clusters.takeDirty();
    assert.deepEqual(clusters.setGateway('n1', up, up), new Set());
    assert.deepEqual(clusters.setGateway('n1', up, down), new Set(['west']));
    assert.deepEqual(clusters.takeDirty(), new Set(['west']));
    assert.equal(clusters.tunnels.state('a1', 'b1'), 'down');
    clusters.reset();
    assert.equal(clusters.takeDirty(), 'all');
  });

  it('notice that other clusters than before do not reach this one', () => {
    const clusters = new Clusters();
    assert.equal(clusters.hubUpdated(update, 0).isReachChanged, true, 'the first report');
    assert.equal(clusters.hubUpdated(update, 0).isReachChanged, false);
    assert.equal(clusters.hubUpdated({ ...update, unreachedBy: ['west'] }, 0).isReachChanged, true);
    assert.equal(clusters.hubUpdated({ ...update, tellsUnreached: false }, 0).isReachChanged, true);
  });
});
