import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addressCondition, addressConditionOf, isVouchedFor, vouchFor } from './pod-addresses.ts';

const annotations = {
  'ovn.kubernetes.io/ip_address': '10.16.0.5',
  'ovn.kubernetes.io/gateway': '10.16.0.1',
  'ovn.kubernetes.io/routes': '[]',
  'red.default.ovn.net1.kubernetes.io/ip_address': '10.30.0.5',
};
const names = ['ovn', 'red.default.ovn.net1'];
const condition = { status: 'True', reason: 'Allocated', message: vouchFor(annotations, names) };

test('each interface is vouched for by itself, as far as the controller writes it', () => {
  for (const name of names) assert.ok(isVouchedFor(condition, annotations, name));
  const edited = { ...annotations, 'ovn.kubernetes.io/gateway': '10.16.0.9' };
  assert.ok(!isVouchedFor(condition, edited, 'ovn'));
  assert.ok(isVouchedFor(condition, edited, 'red.default.ovn.net1'));
  assert.ok(
    isVouchedFor(condition, { ...annotations, 'ovn.kubernetes.io/routes': '[1]' }, 'ovn'),
    'a wish of the user',
  );
});

test('nothing is vouched for without the condition, for another interface, or with the port of a virtual machine', () => {
  assert.ok(!isVouchedFor(undefined, annotations, 'ovn'));
  assert.ok(!isVouchedFor({ ...condition, status: 'False' }, annotations, 'ovn'));
  assert.ok(!isVouchedFor(condition, { ...annotations, 'ovn.kubernetes.io/virtualmachine': 'db' }, 'ovn'));
  const copied = { ...annotations, 'blue.default.ovn.kubernetes.io/ip_address': '10.16.0.5' };
  assert.ok(!isVouchedFor(condition, copied, 'blue.default.ovn'));
  assert.equal(vouchFor({ 'ovn.kubernetes.io/vlan_id': null }, ['ovn']), vouchFor({}, ['ovn']), 'null is absent');
});

test('the condition is found among others, whatever else a status has', () => {
  const status = {
    conditions: [{ type: 'Ready', status: 'True' }, 'x', null, { type: addressCondition, ...condition }],
  };
  assert.deepEqual(addressConditionOf(status), condition);
  for (const strange of [undefined, null, {}, { conditions: 'x' }, { conditions: [{ type: addressCondition }] }])
    assert.equal(addressConditionOf(strange), undefined);
});
