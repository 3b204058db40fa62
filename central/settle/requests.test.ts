import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answerRequest } from './requests.ts';
import type { Requests } from '../model/central-map.ts';
import { cidOf, empty, member, planOf, viewOf } from './testing-reports.ts';

const time = '20260131T000000Z';
const two = { ...member(2), backups: [time], southbound: [time] };
const reports = { a1: member(1, [1, 2, 3]), a2: two, a3: empty(3) };
const plan = planOf(1, 2, 3);
const ask = (requests: Requests, more = reports) => answerRequest(viewOf(more, { plan }), requests);

function refusal(requests: Requests): string {
  const answer = ask(requests);
  return answer !== undefined && 'refused' in answer ? answer.refused : '';
}

test('no request changes nothing', () => {
  assert.equal(ask({}), undefined);
});

test('a recovery continues with the copy of one node as the only member', () => {
  const answer = ask({ recover: 'a2' });
  assert.ok(answer !== undefined && 'plan' in answer);
  assert.deepEqual(answer.plan, {
    generation: 2,
    founder: 'a2',
    from: { nb: { copy: cidOf('nb') }, sb: { copy: cidOf('sb') } },
    clusters: {},
    members: { a2: '10.0.0.2' },
  });
});

test('a restore uses both backups of a time; without a southbound backup the southbound database stays', () => {
  const answer = ask({ restore: `a2/${time}` });
  assert.ok(answer !== undefined && 'plan' in answer);
  assert.deepEqual(answer.plan.from, {
    nb: { copy: cidOf('nb'), backup: time },
    sb: { copy: cidOf('sb'), backup: time },
  });
  assert.deepEqual(Object.keys(answer.plan.members), ['a1', 'a2', 'a3']);
  const northbound = ask({ restore: `a2/${time}` }, { ...reports, a2: { ...two, southbound: [] } });
  assert.ok(northbound !== undefined && 'plan' in northbound);
  assert.deepEqual(northbound.plan.clusters, { sb: cidOf('sb') });
  assert.deepEqual(northbound.plan.from, { nb: { copy: cidOf('nb'), backup: time } });
});

test('a request that is impossible is refused with the reason', () => {
  assert.match(refusal({ recover: 'a9' }), /a9 is not a node that may serve/);
  assert.match(refusal({ recover: 'a3' }), /a3 has no copy/);
  assert.match(refusal({ restore: 'a2' }), /is not <node>\/<time>/);
  assert.match(refusal({ restore: 'a2/20250101T000000Z' }), new RegExp(`its backups are ${time}`));
  assert.match(refusal({ restore: 'a1/20250101T000000Z' }), /its backups are none/);
  assert.match(refusal({ recover: 'a2', restore: `a2/${time}` }), /both requested/);
});
