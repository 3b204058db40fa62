import assert from 'node:assert/strict';
import { test } from 'node:test';
import { planAvailability } from './availability.ts';
import type { NodeStatus } from './node-status.ts';

const ready: NodeStatus = { isReady: true, condition: { status: 'False', reason: 'NetworkReady', message: 'ready' } };
const refused: NodeStatus = { isReady: false, condition: { status: 'True', reason: 'RulesetRefused', message: 'nft' } };
const all = { status: ready, hasDatabase: true, down: [] };

test('a node that is ready takes pods', () => assert.equal(planAvailability(all), undefined));

test('what the Node says is what STATUS says; a dead ovs-vswitchd concerns pods that are there', () => {
  assert.deepEqual(planAvailability({ ...all, status: refused }), {
    code: 'RulesetRefused',
    message: 'nft',
    isLimiting: false,
  });
  const down = (program: 'ovs-vswitchd' | 'ovn-controller') => [{ program, folder: '/run' }];
  assert.equal(planAvailability({ ...all, status: refused, down: down('ovn-controller') })?.isLimiting, false);
  assert.equal(planAvailability({ ...all, status: refused, down: down('ovs-vswitchd') })?.isLimiting, true);
});

test('without a Node, and without the local database, there is no ADD', () => {
  assert.equal(planAvailability({ ...all, status: undefined })?.code, 'NodeMissing');
  assert.equal(planAvailability({ ...all, hasDatabase: false })?.code, 'DatabaseDown');
});
