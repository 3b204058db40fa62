import assert from 'node:assert/strict';
import { test } from 'node:test';
import { routePolicySpec } from '../api/kinds/route-policy.ts';
import { isForClusters } from './policy.ts';

const spec = (fields: object) => routePolicySpec.parse({ direction: 'Import', ...fields });
const unreadable = { code: 'SpecInvalid', message: 'odd' };

test('a policy that names only BgpPeers does not apply between clusters, even while its spec is unreadable', () => {
  const ofPeers = spec({ bgpPeers: ['tor'] });
  assert.equal(isForClusters({ spec: spec({}), inForce: undefined }), true);
  assert.equal(isForClusters({ spec: ofPeers, inForce: undefined }), false);
  assert.equal(isForClusters({ spec: spec({ bgpPeers: ['tor'], transitSwitches: ['ts'] }), inForce: undefined }), true);
  assert.equal(isForClusters({ spec: unreadable, inForce: ofPeers }), false);
  assert.equal(isForClusters({ spec: unreadable, inForce: spec({}) }), true);
  assert.equal(isForClusters({ spec: unreadable, inForce: undefined }), true);
});
