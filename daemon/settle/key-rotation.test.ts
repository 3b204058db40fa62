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
  keys: { current: { madeMs: 0 }, next: undefined, request: '', sinceMs: 0, announcedMs: undefined },
  request: '',
  policy: { intervalMs: 24 * hour, maxWaitMs: 5 * hour },
  own: key('m'),
  peers: [key('a'), key('z')],
  steadyMs: undefined,
  nowMs: hour,
  ...fields,
});
const rotating = (fields: Partial<RotationFacts> = {}): RotationFacts =>
  facts({
    keys: { current: { madeMs: 0 }, next, request: 'first', sinceMs: 0, announcedMs: 10 * hour },
    request: 'first',
    own: key('m', { nextKey: 'next', waitsFor: [] }),
    steadyMs: 10 * hour,
    nowMs: 11 * hour,
    ...fields,
  });

describe('a rotation', () => {
  it('begins when the key is old, or on request, once for each', () => {
    assert.equal(nextStep(facts()), 'none');
    assert.equal(nextStep(facts({ nowMs: 24 * hour })), 'begin');
    assert.equal(nextStep(facts({ nowMs: 24 * hour, policy: { intervalMs: 0, maxWaitMs: 0 } })), 'none');
    assert.equal(nextStep(facts({ request: 'now' })), 'begin');
    const done = { ...facts().keys, request: 'now' };
    assert.equal(nextStep(facts({ request: 'now', keys: done })), 'none');
    // A request that was taken back is no other request.
    assert.equal(nextStep(facts({ request: '', keys: done })), 'none');
  });
  it('begins no sooner after an upgrade, whatever the age of the key', () => {
    const upgraded = { ...facts().keys, sinceMs: 100 * hour };
    assert.equal(nextStep(facts({ keys: upgraded, nowMs: 123 * hour })), 'none');
    assert.equal(nextStep(facts({ keys: upgraded, nowMs: 124 * hour })), 'begin');
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
  it('waits from when the next key was announced to others, however old it is', () => {
    const waiting = rotating({ own: key('m', { nextKey: 'next', waitsFor: ['west'] }), nowMs: 99 * hour });
    const keys = { ...waiting.keys, announcedMs: undefined };
    assert.equal(nextStep({ ...waiting, keys }), 'announced');
    assert.equal(nextStep({ ...waiting, keys: { ...keys, announcedMs: 98 * hour } }), 'none');
    // The hub was away until a moment ago: members connect to it again.
    assert.equal(nextStep({ ...waiting, steadyMs: 98.9 * hour }), 'none');
    assert.equal(nextStep({ ...waiting, steadyMs: 98.8 * hour }), 'end');
  });
  it('does not end together with that of another gateway that waits no longer either', () => {
    const fields = { peers: [key('a', { nextKey: 'theirs' })], own: key('m', { nextKey: 'next', waitsFor: ['west'] }) };
    assert.equal(nextStep(rotating({ ...fields, nowMs: 15 * hour })), 'none');
    assert.equal(nextStep(rotating({ ...fields, nowMs: 15 * hour + 10_000 })), 'end');
  });
  it('never ends before the hub has announced it to others', () => {
    for (const own of [undefined, key('m'), key('m', { nextKey: 'of an earlier rotation', waitsFor: [] })])
      assert.equal(nextStep(rotating({ own, nowMs: 99 * hour })), 'none');
  });
  it('waits for the one of a gateway with a lower name, and no other', () => {
    const lower = [key('a', { nextKey: 'theirs' }), key('z')];
    assert.equal(nextStep(rotating({ peers: lower })), 'none');
    assert.equal(nextStep(rotating({ peers: lower, nowMs: 16 * hour })), 'end', 'a gateway cannot hold it up for ever');
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
