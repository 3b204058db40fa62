import assert from 'node:assert/strict';
import { test } from 'node:test';
import { podMtu } from './pod-mtu.ts';

test('the MTU of a pod: no more than its packets can have on the way they take', () => {
  const [tunnel, nic] = [1400, 9000];
  const overlay = (mtu: number | undefined): number => podMtu({ mtu, isOverlay: true }, tunnel);
  assert.deepEqual([overlay(undefined), overlay(1300), overlay(1500)], [1400, 1300, 1400]);
  const underlay = (mtu: number | undefined): number => podMtu({ mtu, isOverlay: false }, tunnel, nic);
  assert.deepEqual([underlay(undefined), underlay(1500), underlay(9100)], [9000, 1500, 9000]);
  assert.equal(podMtu(undefined, tunnel), 1400, 'of a subnet that is not known yet');
});
