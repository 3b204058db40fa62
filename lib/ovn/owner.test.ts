import assert from 'node:assert/strict';
import { test } from 'node:test';
import { externalIdOf, keyOf, ownerIdOf, ownerOf } from './owner.ts';

const row = (ids: Record<string, string>, name = 'n') => ({ _uuid: '1', name, external_ids: ids });

test('the owner of a row is read from its external_ids; other rows have none', () => {
  assert.deepEqual(ownerOf(row({ 'isthmus-owner': 'controller/pod-port/default/web' })), {
    room: 'controller',
    name: 'pod-port/default/web',
  });
  assert.equal(ownerIdOf(row({ 'isthmus-owner': 'controller/a' })), 'controller/a');
  assert.equal(ownerOf(row({ vendor: 'kube-ovn' })), undefined);
  assert.equal(ownerOf(row({ 'isthmus-owner': 'nonsense' })), undefined);
  assert.equal(ownerOf({ _uuid: '1', name: 'a table without external_ids' }), undefined);
  assert.equal(externalIdOf(row({}), 'toString'), undefined);
});

test('the key of a row is its name, its id, or that of the only row', () => {
  assert.equal(keyOf('Logical_Switch', row({ 'isthmus-key': 'other' })), 'n');
  assert.equal(keyOf('ACL', row({ 'isthmus-key': 'k' })), 'k');
  assert.equal(keyOf('ACL', row({})), undefined);
  assert.equal(keyOf('NB_Global', row({})), '.');
});
