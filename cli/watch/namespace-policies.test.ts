import assert from 'node:assert/strict';
import { test } from 'node:test';
import { namespaceOf, podOf } from '../testing-policies.ts';
import { ownerOf } from './namespace-policies.ts';

test('the owner of a pod is the workload that people know', () => {
  const labels = { 'pod-template-hash': '7d4b9c6f5d' };
  const ofReplicas = (name: string) => ownerOf(podOf('p', { labels, owner: { kind: 'ReplicaSet', name } }));
  assert.deepEqual(ofReplicas('web-7d4b9c6f5d'), { kind: 'Deployment', name: 'web' });
  assert.deepEqual(ofReplicas('web'), { kind: 'ReplicaSet', name: 'web' });
  const unlabelled = podOf('p', { labels: {}, owner: { kind: 'ReplicaSet', name: 'web-' } });
  assert.deepEqual(ownerOf(unlabelled), { kind: 'ReplicaSet', name: 'web-' });
  assert.deepEqual(ownerOf(podOf('p', { owner: { kind: 'Job', name: 'j' } })), { kind: 'Job', name: 'j' });
  assert.equal(ownerOf(podOf('p')), undefined);
  assert.equal(ownerOf(podOf('p', { owner: { kind: 'Node', name: 'n1' } })), undefined);
  const { metadata } = podOf('p');
  assert.equal(
    ownerOf({ metadata: { ...metadata, ownerReferences: [{ uid: 'u', kind: 'X', name: 'x' }] } }),
    undefined,
  );
});

test('pods without an address of their own are counted, and those that have ended are gone', () => {
  const reading = namespaceOf(
    [
      podOf('web'),
      podOf('agent', { spec: { hostNetwork: true } }),
      podOf('new', { ips: [], phase: 'Pending' }),
      podOf('done', { phase: 'Succeeded' }),
      podOf('failed', { phase: 'Failed' }),
    ],
    [],
  );
  assert.deepEqual(
    reading.pods.map(({ name }) => name),
    ['web'],
  );
  assert.deepEqual(reading.leftOut, { hostNetwork: 1, withoutAddress: 1 });
});
