import assert from 'node:assert/strict';
import { test } from 'node:test';
import { instanceOf, peerOf, stateOf } from './testing.ts';
import { objectsOfValues, textOfValues, valuesName, valuesOfText } from './values.ts';

test('objects of values read back from their text, beside real objects', () => {
  const made = objectsOfValues({ localASN: 65001 }, [
    { address: '10.0.0.254', asn: 65000, passive: true },
    { address: 'fd00::fe', asn: 65000 },
  ]);
  assert.deepEqual(
    made.peers.map(({ name }) => name),
    ['(flags) 10.0.0.254', '(flags) fd00::fe'],
  );
  const state = stateOf({
    instances: [instanceOf('rack'), made.instance],
    peers: [peerOf('tor', '10.0.0.1'), ...made.peers],
  });
  assert.deepEqual(valuesOfText(textOfValues(state) ?? ''), made);
  assert.equal(state.instances.get(valuesName), made.instance);
});

test('no values give no text, and text that no speaker wrote gives no objects', () => {
  assert.equal(textOfValues(stateOf({})), undefined);
  for (const text of ['', '{', '[]', '{"instance":{},"peers":[{}]}']) assert.equal(valuesOfText(text), undefined, text);
});
