import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findPathMtu } from './path-mtu.ts';

/** A path with that MTU; `lost` are the numbers, from 1, of packets that would fit and are lost. */
function path(
  mtu: number,
  lost: readonly number[] = [],
): { asked: number[]; passes: (size: number) => Promise<boolean> } {
  const asked: number[] = [];
  return { asked, passes: (size) => Promise.resolve(size <= mtu && !lost.includes(asked.push(size))) };
}

const search = { wanted: 1500, least: 576, hint: undefined };

test('a path that passes the wanted size costs one probe', async () => {
  const { asked, passes } = path(9000);
  assert.equal(await findPathMtu({ ...search, passes }), 1500);
  assert.deepEqual(asked, [1500]);
});

test('the search finds the largest size that passes', async () => {
  for (const mtu of [576, 577, 1000, 1280, 1449, 1450, 1498, 1499])
    for (const hint of [undefined, 576, 900, 1280, 1450, 1499, 9000])
      assert.equal(await findPathMtu({ ...search, hint, passes: path(mtu).passes }), mtu, `${mtu} with hint ${hint}`);
});

test('an unchanged path costs few probes', async () => {
  let questions = 0;
  const { passes } = path(1400);
  const counting = (size: number): Promise<boolean> => {
    questions++;
    return passes(size);
  };
  assert.equal(await findPathMtu({ ...search, hint: 1400, passes: counting }), 1400);
  assert.equal(questions, 5);
});

test('a path on which no probed size passes has no MTU', async () => {
  assert.equal(await findPathMtu({ ...search, passes: path(0).passes }), undefined);
  assert.equal(await findPathMtu({ ...search, wanted: 500, passes: path(400).passes }), undefined);
});

test('an outage during the first probe is not taken for a small path', async () => {
  for (const lost of [[1], [1, 3], [1, 4, 6]])
    assert.equal(await findPathMtu({ ...search, passes: path(1500, lost).passes }), 1500, `lost ${lost.join()}`);
});
