import assert from 'node:assert/strict';
import { test } from 'node:test';
import { planSpeaker } from '../plan/plan.ts';
import { advertisementOf, peerOf, stateOf, subnetOf } from '../plan/testing.ts';
import { programmedByPlan } from './programmed.ts';
import { diffSteps, fresh, type Steps } from './steps.ts';

const web = subnetOf('web', ['10.17.0.0/24'], { labels: { tier: 'web' } });
const db = subnetOf('db', ['10.16.0.0/24']);
const all = advertisementOf('all');
const publicOnly = advertisementOf('public', { matchLabels: { tier: 'web' } }, { scope: 'public' });
const tor1 = peerOf('tor1', '10.0.0.254');
const tor2 = peerOf('tor2', '10.0.0.253', { advertisements: { matchLabels: { scope: 'public' } } });
const base = { peers: [tor1, tor2], advertisements: [all, publicOnly], subnets: [web, db] };

const plan = planSpeaker(stateOf(base));
const applied = programmedByPlan(plan, fresh, new Set());

/** What is not empty, with paths and peers by name. */
function shown(steps: Steps | undefined): object {
  const { startBgp, setPolicies, addPaths = [], updatePeers = [], addPeers = [], ...rest } = steps ?? {};
  const lists = {
    ...rest,
    addPaths: addPaths.map(({ prefix }) => prefix),
    updatePeers: updatePeers.map(({ address }) => address),
    addPeers: addPeers.map(({ address }) => address),
  };
  return {
    ...(startBgp && { startBgp: startBgp.asn }),
    ...(setPolicies && { setPolicies: true }),
    ...Object.fromEntries(Object.entries(lists).filter(([, list]) => Array.isArray(list) && list.length > 0)),
  };
}

test('a fresh gobgpd gets everything, and nothing when no instance is wanted', () => {
  assert.deepEqual(shown(diffSteps(plan, fresh)), {
    startBgp: 65001,
    setPolicies: true,
    addPaths: ['10.16.0.0/24', '10.17.0.0/24'],
    addPeers: ['10.0.0.254', '10.0.0.253'],
  });
  assert.equal(diffSteps(planSpeaker(stateOf({ instances: [] })), fresh), undefined);
});

test('a gobgpd that has the plan gets nothing', () => {
  assert.deepEqual(shown(diffSteps(plan, applied)), {});
});

test('a new prefix needs no session to be told anything again', () => {
  const more = planSpeaker(stateOf({ ...base, subnets: [web, db, subnetOf('new', ['10.18.0.0/24'])] }));
  assert.deepEqual(shown(diffSteps(more, applied)), { setPolicies: true, addPaths: ['10.18.0.0/24'] });
  assert.deepEqual(shown(diffSteps(plan, programmedByPlan(more, applied, new Set()))), {
    withdraw: ['10.18.0.0/24'],
    setPolicies: true,
  });
});

test('only a peer whose share of the staying paths changed is judged anew', () => {
  const hidden = planSpeaker(stateOf({ ...base, subnets: [{ ...web, labels: {} }, db] }));
  assert.deepEqual(shown(diffSteps(hidden, applied)), {
    setPolicies: true,
    resendTo: ['10.0.0.253'],
    takenBack: ['10.17.0.0/24'],
  });
});

test('a changed peer is updated, a removed one deleted, a refused one tried again', () => {
  const changed = planSpeaker(
    stateOf({ ...base, peers: [peerOf('tor1', '10.0.0.254', { holdTimeSeconds: 9, keepaliveSeconds: 3 })] }),
  );
  assert.deepEqual(shown(diffSteps(changed, applied)), {
    deletePeers: ['10.0.0.253'],
    setPolicies: true,
    updatePeers: ['10.0.0.254'],
  });
  const refused = programmedByPlan(plan, fresh, new Set(['10.0.0.253']));
  assert.deepEqual(shown(diffSteps(plan, refused)), { addPeers: ['10.0.0.253'] });
});

test('a node that loses its instance loses peers and paths', () => {
  const none = planSpeaker(stateOf({ ...base, instances: [] }));
  assert.deepEqual(shown(diffSteps(none, applied)), {
    deletePeers: ['10.0.0.254', '10.0.0.253'],
    withdraw: ['10.16.0.0/24', '10.17.0.0/24'],
    setPolicies: true,
  });
});

test('while a password is not known a peer is neither made nor changed nor removed', () => {
  const tor = (more: object) => peerOf('tor1', '10.0.0.254', { passwordSecretRef: { name: 's' }, ...more });
  const known = planSpeaker(stateOf({ peers: [tor({})], secrets: new Map([['s', new Map([['password', 'x']])]]) }));
  const programmed = programmedByPlan(known, fresh, new Set());
  const lost = planSpeaker(stateOf({ peers: [tor({ holdTimeSeconds: 9, keepaliveSeconds: 3 })] }));
  assert.deepEqual(shown(diffSteps(lost, fresh)), { startBgp: 65001, setPolicies: true });
  assert.deepEqual(shown(diffSteps(lost, programmed)), {});
  assert.deepEqual(programmedByPlan(lost, programmed, new Set()).peers, programmed.peers);
  assert.deepEqual(shown(diffSteps(known, programmed)), {});
});
