import assert from 'node:assert/strict';
import { test } from 'node:test';
import { planSpeaker } from '../plan/plan.ts';
import { advertisementOf, peerOf, subnetOf } from '../../lib/bgp/testing.ts';
import type { SpeakerPlan } from '../plan/plan.ts';
import { stateOf } from '../plan/testing.ts';
import { programmedBySteps } from './programmed.ts';
import { diffSteps, fresh, type Programmed, type Steps } from './steps.ts';

const web = subnetOf('web', ['10.17.0.0/24'], { labels: { tier: 'web' } });
const db = subnetOf('db', ['10.16.0.0/24']);
const all = advertisementOf('all');
const publicOnly = advertisementOf('public', { selector: { matchLabels: { tier: 'web' } } }, { scope: 'public' });
const tor1 = peerOf('tor1', '10.0.0.254');
const tor2 = peerOf('tor2', '10.0.0.253', { advertisements: { matchLabels: { scope: 'public' } } });
const base = { peers: [tor1, tor2], advertisements: [all, publicOnly], subnets: [web, db] };

const plan = planSpeaker(stateOf(base));
/** The state of gobgpd after the plan, with a separate map of paths. */
function programmedBy(next: SpeakerPlan, before: Programmed, refused: readonly string[] = []): Programmed {
  const own = { ...before, paths: new Map(before.paths) };
  const steps = diffSteps(next, own);
  return steps ? programmedBySteps(steps, own, new Set(refused)) : own;
}
const applied = programmedBy(plan, fresh());

/** The steps that are not empty, with paths and peers by name. */
function shown(steps: Steps | undefined): object {
  const {
    startBgp,
    setPolicies,
    prunePolicies,
    withdraw = [],
    addPaths = [],
    takenBack = [],
    updatePeers = [],
    addPeers = [],
    ...rest
  } = steps ?? {};
  const lists = {
    ...rest,
    addPaths: addPaths.map(({ prefix }) => prefix).toSorted(),
    withdraw: withdraw.toSorted(),
    takenBack: takenBack.map(({ prefix }) => prefix),
    updatePeers: updatePeers.map(({ address }) => address),
    addPeers: addPeers.map(({ address }) => address),
  };
  return {
    ...(startBgp && { startBgp: startBgp.asn }),
    ...(setPolicies && { setPolicies: true }),
    ...(prunePolicies && { prunePolicies: true }),
    ...Object.fromEntries(Object.entries(lists).filter(([, list]) => Array.isArray(list) && list.length > 0)),
  };
}

test('a fresh gobgpd gets everything, and nothing when no instance is wanted', () => {
  assert.deepEqual(shown(diffSteps(plan, fresh())), {
    startBgp: 65001,
    setPolicies: true,
    addPaths: ['10.16.0.0/24', '10.17.0.0/24'],
    addPeers: ['10.0.0.254', '10.0.0.253'],
  });
  assert.equal(diffSteps(planSpeaker(stateOf({ instances: [] })), fresh()), undefined);
});

test('a gobgpd that has the plan gets nothing', () => {
  assert.deepEqual(shown(diffSteps(plan, applied)), {});
});

test('a new prefix of an existing class needs no policy, and only the prefix is sent', () => {
  const more = planSpeaker(stateOf({ ...base, subnets: [web, db, subnetOf('new', ['10.18.0.0/24'])] }));
  assert.deepEqual(shown(diffSteps(more, applied)), { addPaths: ['10.18.0.0/24'] });
  assert.deepEqual(shown(diffSteps(plan, programmedBy(more, applied))), { withdraw: ['10.18.0.0/24'] });
});

test('of the compared prefixes only those that differ are sent', () => {
  const more = planSpeaker(stateOf({ ...base, subnets: [db, subnetOf('new', ['10.18.0.0/24'])] }));
  const looked = diffSteps(more, applied, new Set(['10.18.0.0/24', '10.16.0.0/24']));
  assert.deepEqual(shown(looked), { addPaths: ['10.18.0.0/24'], prunePolicies: true });
});

test('a prefix that changes its class is sent again while the policies of both classes are in force', () => {
  const hidden = planSpeaker(stateOf({ ...base, subnets: [{ ...web, labels: {} }, db] }));
  const steps = diffSteps(hidden, applied);
  assert.deepEqual(shown(steps), { addPaths: ['10.17.0.0/24'], prunePolicies: true });
  assert.equal(steps?.prunePolicies?.policies['isthmus-export']?.length, 1);
});

test('a changed attribute moves the prefixes of its advertisement to a new class, and no other', () => {
  const louder = advertisementOf(
    'public',
    { ...publicOnly, selector: { matchLabels: { tier: 'web' } }, attributes: { med: 5 } },
    { scope: 'public' },
  );
  const changed = planSpeaker(stateOf({ ...base, advertisements: [all, louder] }));
  const steps = diffSteps(changed, applied);
  assert.deepEqual(shown(steps), { setPolicies: true, addPaths: ['10.17.0.0/24'], prunePolicies: true });
  const names = (policies: Steps['setPolicies']) => policies?.policies['isthmus-export']?.map(({ name }) => name) ?? [];
  assert.equal(
    names(steps?.setPolicies).length,
    names(steps?.prunePolicies).length + 2,
    'the old class stays until its paths are moved',
  );
});

test('a peer whose selector changes is evaluated again, and no other peer', () => {
  const wider = peerOf('tor2', '10.0.0.253');
  const seesAll = planSpeaker(stateOf({ ...base, peers: [tor1, wider] }));
  assert.deepEqual(shown(diffSteps(seesAll, applied)), { setPolicies: true, resendTo: ['10.0.0.253'] });
  const back = diffSteps(plan, programmedBy(seesAll, applied));
  assert.deepEqual(shown(back), { setPolicies: true, resendTo: ['10.0.0.253'], takenBack: ['10.16.0.0/24'] });
});

test('a new peer changes nothing for the others', () => {
  const three = planSpeaker(stateOf({ ...base, peers: [tor1, tor2, peerOf('tor3', '10.0.0.252')] }));
  assert.deepEqual(shown(diffSteps(three, applied)), { setPolicies: true, addPeers: ['10.0.0.252'] });
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
  const refused = programmedBy(plan, fresh(), ['10.0.0.253']);
  assert.deepEqual(shown(diffSteps(plan, refused)), { addPeers: ['10.0.0.253'] });
});

test('a node that loses its instance loses peers and paths', () => {
  const none = planSpeaker(stateOf({ ...base, instances: [] }));
  assert.deepEqual(shown(diffSteps(none, applied)), {
    deletePeers: ['10.0.0.254', '10.0.0.253'],
    withdraw: ['10.16.0.0/24', '10.17.0.0/24'],
    prunePolicies: true,
  });
});

test('a peer is neither created, changed nor removed while its password is unknown', () => {
  const tor = (more: object) => peerOf('tor1', '10.0.0.254', { passwordSecretRef: { name: 's' }, ...more });
  const known = planSpeaker(stateOf({ peers: [tor({})], secrets: new Map([['s', new Map([['password', 'x']])]]) }));
  const programmed = programmedBy(known, fresh());
  const lost = planSpeaker(stateOf({ peers: [tor({ holdTimeSeconds: 9, keepaliveSeconds: 3 })] }));
  assert.deepEqual(shown(diffSteps(lost, fresh())), { startBgp: 65001, setPolicies: true });
  assert.deepEqual(shown(diffSteps(lost, programmed)), {});
  assert.deepEqual(programmedBy(lost, programmed).peers, programmed.peers);
  assert.deepEqual(shown(diffSteps(known, programmed)), {});
});

test('a password that changes resets the sessions that have it, and no others', () => {
  const tor = (name: string, address: string, key: string) =>
    peerOf(name, address, { passwordSecretRef: { name: 's', key } });
  const peers = [tor('tor1', '10.0.0.254', 'a'), tor('tor2', '10.0.0.253', 'b'), tor('tor3', '10.0.0.252', 'a')];
  const planned = (a: string) =>
    planSpeaker(
      stateOf({
        peers,
        secrets: new Map([
          [
            's',
            new Map([
              ['a', a],
              ['b', 'same'],
            ]),
          ],
        ]),
      }),
    );
  const before = planned('old');
  assert.deepEqual(shown(diffSteps(planned('new'), programmedBy(before, fresh()))), {
    updatePeers: ['10.0.0.254', '10.0.0.252'],
  });
});
