import assert from 'node:assert/strict';
import { test } from 'node:test';
import { empty, member, planOf } from '../settle/testing-reports.ts';
import { planClients } from './clients.ts';

test('clients get the remotes of connected members and of the members that they had before', () => {
  const reports = new Map(Object.entries({ a1: member(1, [1, 2, 3]), a2: member(2), a3: empty(3) }));
  const view = { scheme: 'ssl', plan: planOf(1, 2, 3), reports } as const;
  assert.deepEqual(planClients({ ...view, published: '' }), {
    nb: 'ssl:10.0.0.1:6641,ssl:10.0.0.2:6641',
    sb: 'ssl:10.0.0.1:6642,ssl:10.0.0.2:6642',
    'sb-chassis': 'ssl:10.0.0.1:16642,ssl:10.0.0.2:16642',
  });
  const plan = planClients({ ...view, published: 'ssl:10.0.0.3:6641,ssl:10.0.0.8:6641' });
  assert.equal(plan?.nb, 'ssl:10.0.0.1:6641,ssl:10.0.0.2:6641,ssl:10.0.0.3:6641');
});
