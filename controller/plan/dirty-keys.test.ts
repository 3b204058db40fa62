import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Cluster } from '../settle/cluster.ts';
import { DirtyKeys } from './dirty-keys.ts';

test('the first keys include those of changes before them: their objects may be gone', () => {
  const dirty = new DirtyKeys(new Cluster());
  dirty.changed({ kind: 'freed', name: 'web.default' });
  dirty.changed({ kind: 'ports', name: 'health-check/blue' });
  const first = dirty.take();
  assert.ok(first.has('ip/web.default'));
  assert.ok(first.has('health-check/blue'));
  assert.deepEqual([...dirty.take()], []);
});
