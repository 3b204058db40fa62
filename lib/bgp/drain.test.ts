import assert from 'node:assert/strict';
import { test } from 'node:test';
import { announcingIn, isDrained } from './drain.ts';
import { chooseInstance } from './instance.ts';
import { instanceOf, nodeOf, stateOf, type TestObjects } from './testing.ts';

test('a node is drained by annotation, or by cordon where its instance takes that for a wish', () => {
  const node = nodeOf('n1', ['10.0.0.1']);
  const cordoned = [{ ...node, isCordoned: true }];
  const withdrawing = [instanceOf('rack', { drain: { onCordon: 'Withdraw' } })];
  const isOut = (objects: TestObjects) => isDrained(stateOf(objects), chooseInstance(stateOf(objects)).instance);
  assert.equal(isOut({ nodes: [node] }), false);
  assert.equal(isOut({ nodes: [{ ...node, isDrained: true }] }), true);
  assert.equal(isOut({ nodes: cordoned }), false);
  assert.equal(isOut({ nodes: cordoned, instances: withdrawing }), true);
});

test('without an instance, or once drained, a node announces nothing', () => {
  const { instance } = chooseInstance(stateOf({}));
  assert.deepEqual(announcingIn('None', instance), { isLeaving: false });
  assert.deepEqual(announcingIn('Leaving', instance), { isLeaving: true });
  assert.equal(announcingIn('Drained', instance), undefined);
  assert.equal(announcingIn('None', undefined), undefined);
});
