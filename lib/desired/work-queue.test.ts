import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Plans } from './plans.ts';
import { WorkQueue } from './work-queue.ts';

test('a revision is done when none of its keys is waiting or in progress, whatever was added since', () => {
  const queue = new WorkQueue();
  const plans = new Plans();
  assert.equal(queue.oldest, undefined);
  queue.advance();
  queue.touch('a');
  queue.advance();
  queue.touch('b');
  const first = queue.take(1, plans);
  assert.deepEqual(first.owners, ['a']);
  assert.equal(queue.oldest, 1);
  queue.advance();
  queue.touch('a');
  assert.equal(queue.oldest, 1, 'the older plan of a is under way');
  queue.finish(first);
  assert.equal(queue.oldest, 2);
  queue.finish(queue.take(1, plans));
  assert.equal(queue.oldest, 3, 'the later plan of a waits');
  assert.equal(queue.isDone(), false);
  queue.finish(queue.take(1, plans));
  assert.equal(queue.isDone(), true);
});

test('a key that is put back or touched again keeps its revision', () => {
  const queue = new WorkQueue();
  const plans = new Plans();
  queue.advance();
  queue.touch('a');
  queue.touchColumn('column', 'all');
  const task = queue.take(10, plans);
  assert.equal(queue.isEmpty(), true);
  assert.equal(queue.isDone(), false);
  queue.advance();
  queue.touch('a');
  queue.touch('b');
  queue.putBack(task);
  assert.equal(queue.oldest, 1);
  const again = queue.take(10, plans);
  assert.deepEqual(again, { owners: ['a', 'b'], unheld: [['column', 'all']] });
  queue.hold('b');
  queue.putBack(again);
  assert.deepEqual(queue.take(10, plans).owners, ['a'], 'an owner that is held is left alone');
});
