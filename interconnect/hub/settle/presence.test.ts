import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Presences } from './presence.ts';

const time = { nowMs: 1000, staleAfterMs: 600 };

describe('a member without a session', () => {
  it('is present until its grace period ends, and again as soon as it returns', () => {
    const presences = new Presences();
    assert.equal(presences.connect('east'), true);
    assert.equal(presences.connect('east'), false);
    presences.disconnect('east', 400);
    assert.equal(presences.shown('east').connected, true);
    presences.setAbsent('east', 400);
    assert.deepEqual(presences.shown('east'), { connected: false, lastSeenMs: 400 });
    assert.equal(presences.connect('east'), true);
    assert.equal(presences.shown('east').connected, true);
  });

  it('is given up once after a long absence if no connected member reaches it', () => {
    const presences = new Presences();
    presences.disconnect('east', 400);
    const unreached = new Set(['east']);
    assert.deepEqual(presences.giveUp(new Map(), time), [], 'without a witness the hub may be cut off');
    const oneReaches = new Map([
      ['west', unreached],
      ['north', new Set<string>()],
    ]);
    assert.deepEqual(presences.giveUp(oneReaches, time), []);
    const noneReaches = new Map([['west', unreached]]);
    assert.deepEqual(presences.giveUp(noneReaches, { ...time, nowMs: 999 }), []);
    assert.deepEqual(presences.giveUp(noneReaches, time), [['east', 400]]);
    assert.deepEqual(presences.shown('east'), { connected: false, lastSeenMs: 400 });
    assert.deepEqual(presences.giveUp(noneReaches, time), []);
  });

  it('keeps the time of its absence under a new name', () => {
    const presences = new Presences();
    presences.disconnect('east', 400);
    presences.rename('east', 'ost');
    assert.equal(presences.get('east'), undefined);
    assert.deepEqual(presences.giveUp(new Map([['west', new Set(['ost'])]]), time), [['ost', 400]]);
  });
});
