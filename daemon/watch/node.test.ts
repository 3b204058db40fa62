import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseNode } from './node.ts';

test('a Node is to be deleted if it is being deleted, or has the taint of the cluster autoscaler', () => {
  const parse = (metadata: object, ...taints: readonly string[]): boolean =>
    parseNode({
      metadata: { name: 'n1', uid: 'u', resourceVersion: '1', ...metadata },
      spec: { taints: taints.map((key) => ({ key, effect: 'NoSchedule' })) },
    }).isToBeDeleted;
  assert.equal(parse({}), false);
  assert.equal(parse({}, 'DeletionCandidateOfClusterAutoscaler'), false, 'the autoscaler may still keep it');
  assert.equal(parse({}, 'other', 'ToBeDeletedByClusterAutoscaler'), true);
  assert.equal(parse({ deletionTimestamp: '2026-01-01T00:00:00Z' }), true);
  assert.equal(parseNode({ metadata: { name: 'n1', uid: 'u', resourceVersion: '1' } }).isToBeDeleted, false);
});
