import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { GatewayKey } from '../../lib/api/kinds/gateway-key-slice.ts';
import { Acceptances, nextStep, type RotationFacts } from './key-rotation.ts';

const hour = 3_600_000;
const key = (chassis: string, fields: Partial<GatewayKey> = {}): GatewayKey => ({
  chassis,
  publicKey: `key of ${chassis}`,
  address: '100.126.0.1',
  endpoints: [],
  ...fields,
});
const next = { publicKey: 'next', madeMs: 10 * hour };
const facts = (fields: Partial<RotationFacts> = {}): RotationFacts => ({
  keys: { current: { madeMs: 0 }, next: undefined, request: '' },
  request: '',
  policy: { intervalMs: 24 * hour, maxWaitMs: 5 * hour },
  own: key('m'),
  peers: [key('a'), key('z')],
  nowMs: hour,
  ...fields,
});
const rotating = (fields: Partial<RotationFacts> = {}): RotationFacts =>
  facts({
    keys: { current: { madeMs: 0 }, next, request: 'first' },
    request: 'first',
    own: key('m', { nextKey: 'next', waitsFor: [] }),
    nowMs: 11 * hour,
    ...fields,
  });

describe('a rotation', () => {
  it('begins when the key is old, or on request, once for each', () => {
    assert.equal(nextStep(facts()), 'none');
    assert.equal(nextStep(facts({ nowMs: 24 * hour })), 'begin');
    assert.equal(nextStep(facts({ nowMs: 24 * hour, policy: { intervalMs: 0, maxWaitMs: 0 } })), 'none');
    assert.equal(nextStep(facts({ request: 'now' })), 'begin');
    const done = { current: { madeMs: 0 }, next: undefined, request: 'now' };
    assert.equal(nextStep(facts({ request: 'now', keys: done })), 'none');
    // A request that was taken back is no other request.
    assert.equal(nextStep(facts({ request: '', keys: done })), 'none');
  });
  it('does not begin before others know the key there is', () => {
    assert.equal(nextStep(facts({ own: undefined, request: 'now', nowMs: 99 * hour })), 'none');
  });
  it('takes up another request while it goes on', () => {
    assert.equal(nextStep(rotating({ request: 'second' })), 'begin');
  });
  it('ends when all clusters accept the next key', () => {
    assert.equal(nextStep(rotating()), 'end');
    const waiting = key('m', { nextKey: 'next', waitsFor: ['west'] });
    assert.equal(nextStep(rotating({ own: waiting })), 'none');
    assert.equal(nextStep(rotating({ own: waiting, nowMs: 15 * hour })), 'end', 'it waits no longer than it may');
  });
  it('never ends before the hub has told others', () => {
    for (const own of [undefined, key('m'), key('m', { nextKey: 'of an earlier rotation', waitsFor: [] })])
      assert.equal(nextStep(rotating({ own, nowMs: 99 * hour })), 'none');
  });
  it('waits for the one of a gateway with a lower name, and no other', () => {
    const lower = [key('a', { nextKey: 'theirs' }), key('z')];
    assert.equal(nextStep(rotating({ peers: lower })), 'none');
    assert.equal(nextStep(rotating({ peers: lower, nowMs: 15 * hour })), 'end', 'a gateway cannot hold it up for ever');
    assert.equal(nextStep(rotating({ peers: [key('a'), key('z', { nextKey: 'theirs' })] })), 'end');
  });
});

describe('next keys of others', () => {
  it('are accepted as soon as WireGuard has them, but for a moment after a change of the own key', () => {
    const acceptances = new Acceptances();
    assert.deepEqual([...acceptances.accept(['one'], 1000)], ['one']);
    acceptances.changed(2000);
    assert.deepEqual([...acceptances.accept(['one', 'two'], 2500)], ['one']);
    assert.deepEqual([...acceptances.accept(['one', 'two'], 7000)], ['one', 'two']);
    assert.deepEqual([...acceptances.accept([], 7001)], []);
  });
});
