import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aSandbox } from '../testing-sandbox.ts';
import { Sandboxes } from './sandboxes.ts';

test('a sandbox is found by its pod, its port and its host interface until it is removed', () => {
  const sandboxes = new Sandboxes();
  const other = { ...aSandbox, containerId: 'c2', hostInterface: 'def_h' };
  sandboxes.add(aSandbox);
  sandboxes.add(other);
  assert.deepEqual(sandboxes.ofPod('default', 'web'), [aSandbox, other]);
  assert.deepEqual(sandboxes.ofPort('web.default'), [aSandbox, other]);
  assert.equal(sandboxes.byHostInterface('def_h'), other);
  sandboxes.remove(aSandbox);
  assert.deepEqual([...sandboxes.all()], [other]);
  assert.deepEqual(sandboxes.ofPod('default', 'web'), [other]);
  assert.deepEqual(sandboxes.ofPort('web.default'), [other]);
  assert.equal(sandboxes.byHostInterface('abc_h'), undefined);
  assert.equal(sandboxes.size, 1);
});

test('an attachment that is added again replaces the first one in all indexes', () => {
  const sandboxes = new Sandboxes();
  const next = { ...aSandbox, port: 'db.default', podName: 'db', hostInterface: 'def_h' };
  sandboxes.add(aSandbox);
  sandboxes.add(next);
  assert.deepEqual(sandboxes.ofPod('default', 'web'), []);
  assert.deepEqual(sandboxes.ofPort('web.default'), []);
  assert.equal(sandboxes.byHostInterface('abc_h'), undefined);
  assert.deepEqual(sandboxes.ofPort('db.default'), [next]);
});
