import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { IsolatingPolicy } from '../model/isolating-policy.ts';
import { isolatingPolicies } from './isolating-policies.ts';

const policy = (name: string, changes: Partial<IsolatingPolicy> = {}): IsolatingPolicy => ({
  name,
  namespace: 'shop',
  pods: {},
  providers: undefined,
  directions: ['ingress'],
  ...changes,
});

test('policies that isolate a pod are those of its namespace that select it, in the direction, for the interface', () => {
  const policies = [
    policy('web', { pods: { matchLabels: { app: 'web' } } }),
    policy('all'),
    policy('db', { pods: { matchLabels: { app: 'db' } } }),
    policy('out', { directions: ['egress'] }),
    policy('elsewhere', { namespace: 'ops' }),
    policy('second', { providers: ['second.shop.ovn'] }),
  ];
  const pod = { namespace: 'shop', labels: { app: 'web' } };
  const names = (provider: string, direction: 'ingress' | 'egress'): readonly string[] =>
    isolatingPolicies(policies, pod, provider, direction).map(({ name }) => name);
  assert.deepEqual(names('ovn', 'ingress'), ['all', 'web']);
  assert.deepEqual(names('second.shop.ovn', 'ingress'), ['all', 'second', 'web']);
  assert.deepEqual(names('ovn', 'egress'), ['out']);
});
