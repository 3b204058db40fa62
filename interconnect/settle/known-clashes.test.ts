import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { gateway, local, west } from '../model/testing.ts';
import { KnownClashes } from './known-clashes.ts';
import { HubView } from '../state/hub-view.ts';

describe('gateways that clash with those of another cluster', () => {
  it('are computed again only after an update of the hub or a change of this cluster', () => {
    const hub = new HubView();
    const clashes = new KnownClashes();
    const found = (view = local): readonly string[] => {
      clashes.update(view, hub);
      return clashes.list.map(({ chassis }) => chassis);
    };
    const tell = (chassis: string): void => {
      const members = [{ ...west, gateways: [gateway(chassis, '172.30.2.11')] }];
      const nothing = {
        transitSwitches: [],
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
      hub.apply({ ...nothing, revision: 1, full: false, members }, 0);
    };
    assert.deepEqual(found(), []);
    tell('a1');
    assert.deepEqual(found(), ['a1']);
    const { list } = clashes;
    assert.deepEqual(found(), ['a1']);
    assert.equal(clashes.list, list);
    assert.deepEqual(found({ ...local, gatewayNodes: [] }), []);
    assert.deepEqual(found(), ['a1']);
    tell('b1');
    assert.deepEqual(found(), []);
    tell('a2');
    assert.deepEqual(found(), ['a2']);
    hub.reset();
    assert.deepEqual(found(), []);
  });
});
