import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Sandbox as ListedSandbox } from '../cri/messages.ts';
import { compareSandboxes } from './relist.ts';
import type { Sandbox } from './sandbox.ts';

const known = (containerId: string): Sandbox => ({
  namespace: 'default',
  pod: 'web',
  uid: `uid-${containerId}`,
  node: 'n1',
  netns: 'x',
  containerId,
});
const listed = (id: string, change: Partial<ListedSandbox> = {}): ListedSandbox => ({
  id,
  metadata: { name: 'web', namespace: 'default', uid: `uid-${id}`, attempt: 0 },
  state: 'SANDBOX_READY',
  labels: { 'io.kubernetes.pod.uid': `uid-${id}` },
  ...change,
});

test('sandboxes that are not ready or missing in the runtime have ended', () => {
  const { ended } = compareSandboxes(
    [known('a'), known('b'), known('c')],
    [listed('a'), listed('b', { state: 'SANDBOX_NOTREADY' })],
    () => true,
  );
  assert.deepEqual(
    ended.map(({ containerId }) => containerId),
    ['b', 'c'],
  );
});

test('sandboxes of unknown pods are orphans in any state; sandboxes without a pod are not', () => {
  const all = [listed('a'), listed('b', { state: 'SANDBOX_NOTREADY' }), listed('c'), listed('d', { labels: {} })];
  const { orphans } = compareSandboxes([known('a')], all, (uid) => uid === 'uid-a');
  assert.deepEqual(
    orphans.map(({ id }) => id),
    ['b', 'c'],
  );
});
