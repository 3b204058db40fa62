import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FrontendRights, type Right } from './frontend-rights.ts';

const external = (...keys: readonly string[]): readonly Right[] => keys.map((key) => ({ key, isClusterIp: false }));

test('the oldest Service has a key, in any order of events, and then the next oldest gets it', () => {
  const claims = [
    ['default/young', 3000],
    ['default/old', 1000],
    ['default/twin', 1000],
  ] as const;
  for (const order of [claims, claims.toReversed()]) {
    const rights = new FrontendRights();
    for (const [service, createdMs] of order) rights.set(service, createdMs, external('k', `own ${service}`));
    assert.equal(rights.holderOf('k'), 'default/old');
    assert.deepEqual(rights.deniedTo('default/young'), [{ key: 'k', holder: 'default/old' }]);
    assert.deepEqual(rights.deniedTo('default/old'), []);
    assert.deepEqual(rights.set('default/old', 1000, []), new Set(['default/twin']));
    assert.deepEqual(rights.set('default/old', 1000, external('k')), new Set(['default/twin']));
    assert.equal(rights.holderOf('k'), 'default/old');
    assert.deepEqual(rights.set('default/young', 3000, []), new Set(), 'it had nothing of others');
    assert.equal(rights.holderOf('own default/young'), undefined);
  }
});

test('a ClusterIP is that of its Service, although an older one has it as an external IP', () => {
  const rights = new FrontendRights();
  rights.set('default/old', 1000, external('k'));
  assert.deepEqual(rights.set('default/web', 2000, [{ key: 'k', isClusterIp: true }]), new Set(['default/old']));
  assert.equal(rights.holderOf('k'), 'default/web');
  assert.deepEqual(rights.set('default/web', 2000, []), new Set(['default/old']));
  assert.equal(rights.holderOf('k'), 'default/old');
});
