import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chooseNode, type Node, parseNode, parsePod } from './pod.ts';

const metadata = { name: 'web', namespace: 'demo', uid: 'u1', resourceVersion: '1' };
const node = (name: string, labels: Record<string, string> = {}, canTakePods = true): Node => ({
  name,
  labels,
  canTakePods,
});
const pod = parsePod({ metadata, spec: { containers: [] } });

test('a pod goes to the node with the fewest pods', () => {
  const nodes = [node('n1'), node('n2'), node('n3')];
  assert.equal(
    chooseNode(
      pod,
      nodes,
      new Map([
        ['n1', 2],
        ['n2', 1],
        ['n3', 1],
      ]),
    ),
    'n2',
  );
});

test('the node selector and the node’s own state are honoured', () => {
  const picky = parsePod({ metadata, spec: { nodeSelector: { disk: 'fast' } } });
  assert.equal(chooseNode(picky, [node('n1'), node('n2', { disk: 'fast' })], new Map([['n2', 9]])), 'n2');
  assert.equal(chooseNode(picky, [node('n1'), node('n2', { disk: 'fast' }, false)], new Map()), undefined);
});

test('a node takes pods when it is Ready, has a network and is not cordoned', () => {
  const raw = (conditions: object[], spec: object = {}) =>
    parseNode({ metadata: { ...metadata, name: 'n1' }, spec, status: { conditions } });
  const ready = { type: 'Ready', status: 'True' };
  assert.equal(raw([ready]).canTakePods, true);
  assert.equal(raw([ready, { type: 'NetworkUnavailable', status: 'True' }]).canTakePods, false);
  assert.equal(raw([ready], { unschedulable: true }).canTakePods, false);
  assert.equal(raw([]).canTakePods, false);
});

test('deletion and completion are distinguished', () => {
  const deleting = { ...metadata, deletionTimestamp: '2026-01-01T00:00:00Z' };
  assert.deepEqual(pick(parsePod({ metadata: deleting })), { isDeleting: true, isReleased: false, isFinished: false });
  const released = { ...deleting, deletionGracePeriodSeconds: 0 };
  assert.deepEqual(pick(parsePod({ metadata: released })), { isDeleting: true, isReleased: true, isFinished: false });
  assert.deepEqual(pick(parsePod({ metadata, status: { phase: 'Failed' } })), {
    isDeleting: false,
    isReleased: false,
    isFinished: true,
  });
});

function pick({ isDeleting, isReleased, isFinished }: ReturnType<typeof parsePod>): object {
  return { isDeleting, isReleased, isFinished };
}
