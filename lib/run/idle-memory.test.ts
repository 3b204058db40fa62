import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { IdleMemory } from './idle-memory.ts';

test('memory is collected once work has stopped, and again only after the heap has grown', async () => {
  let [heap, collections, trims] = [100, 0, 0];
  const memory = new IdleMemory({
    collect: () => {
      collections += 1;
      heap = 60;
    },
    heapBytes: () => heap,
    trim: () => void (trims += 1),
  });
  for (let at = 0; at < 6; at += 1) {
    memory.worked();
    await sleep(300);
  }
  assert.deepEqual([collections, trims], [0, 0], 'while there is work');
  await sleep(1300);
  assert.deepEqual([collections, trims], [1, 1]);
  memory.worked();
  await sleep(1300);
  assert.deepEqual([collections, trims], [1, 2], 'the heap is as it was');
  heap = 70;
  memory.worked();
  await sleep(1300);
  assert.equal(collections, 2);
  memory.close();
});
