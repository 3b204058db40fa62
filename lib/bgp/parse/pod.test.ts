import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addressCondition, vouchFor } from '../../api/pod-addresses.ts';
import { parsePod } from './pod.ts';

const annotations = {
  'ovn.kubernetes.io/allocated': 'true',
  'ovn.kubernetes.io/ip_address': '10.16.0.5,fd00::5',
  'ovn.kubernetes.io/logical_switch': 'ovn-default',
  'red.default.ovn.kubernetes.io/ip_address': '10.30.0.5',
};
const metadata = { name: 'web', namespace: 'default', uid: 'u', resourceVersion: '1', annotations };
const addressesWith = (status: object): readonly string[] =>
  parsePod({ metadata, status }).addresses.map(({ ip }) => ip);

test('a pod has the addresses that the controller vouches for, not what its author wrote', () => {
  const condition = {
    type: addressCondition,
    status: 'True',
    reason: 'Allocated',
    message: vouchFor(annotations, ['ovn']),
  };
  assert.deepEqual(addressesWith({ conditions: [condition] }), ['10.16.0.5', 'fd00::5']);
  assert.deepEqual(addressesWith({ conditions: [{ ...condition, message: 'ovn/x' }] }), []);
  assert.deepEqual(addressesWith({ conditions: [{ ...condition, status: 'False' }] }), []);
  assert.deepEqual(addressesWith({}), []);
});

test('a pod without the condition of the controller has the addresses that the kubelet reported', () => {
  assert.deepEqual(addressesWith({ podIPs: [{ ip: '10.16.0.5' }] }), ['10.16.0.5']);
  const refused = { type: addressCondition, status: 'False', reason: 'AddressConflict', message: 'taken' };
  assert.deepEqual(addressesWith({ podIPs: [{ ip: '10.16.0.5' }], conditions: [refused] }), []);
});
