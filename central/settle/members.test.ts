import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { decideMembers } from './members.ts';
import type { MembersView } from './view.ts';
import { addressOf, candidate, cidOf, empty, idOf, member, planOf, viewOf } from './testing-reports.ts';
import { both } from '../model/databases.ts';
import type { Plan } from '../model/plan.ts';
import type { DatabaseReport, Report } from '../model/report.ts';

/** The members that a view leads to. */
function members(view: MembersView): string {
  return Object.keys(decideMembers(view).plan?.members ?? {}).join(' ');
}

function assertSame(view: MembersView, status: RegExp): void {
  const decision = decideMembers(view);
  assert.equal(decision.plan, view.plan);
  assert.match(decision.status, status);
}

describe('founding', () => {
  test('a single node founds at once; the first plan of three nodes has all three', () => {
    const { plan } = decideMembers(viewOf({ a1: empty(1) }));
    const from = { nb: { copy: 'none' }, sb: { copy: 'none' } };
    assert.deepEqual(plan, { generation: 1, founder: 'a1', from, clusters: {}, members: { a1: '10.0.0.1' } });
    assert.equal(members(viewOf({ a1: empty(1), a2: empty(2) })), 'a1');
    assert.equal(members(viewOf({ a1: empty(1), a2: empty(2), a3: empty(3), a4: empty(4) })), 'a1 a2 a3');
    const wish = { replicas: 1 };
    assert.equal(members(viewOf({ a1: empty(1), a2: empty(2), a3: empty(3) }, wish)), 'a1');
  });

  test('waits for the other nodes for a limited time', () => {
    const candidates = [candidate(1), candidate(2)];
    assertSame(viewOf({}, { candidates }), /no node that may serve/);
    assertSame(viewOf({ a1: empty(1) }, { candidates }), /waits a few seconds for reports of a2/);
    assert.equal(members(viewOf({ a1: empty(1) }, { candidates, nowMs: 3_605_000 })), 'a1');
  });

  test('a node with a database is the founder: a clustered database precedes a standalone one', () => {
    const reports = { a1: empty(1), a2: empty(2, 'standalone'), a3: empty(3) };
    const { plan } = decideMembers(viewOf(reports));
    assert.equal(plan?.founder, 'a2');
    assert.deepEqual(plan.from, { nb: { copy: 'standalone' }, sb: { copy: 'standalone' } });
    const clustered = decideMembers(viewOf({ ...reports, a3: member(3, [3]) })).plan;
    assert.deepEqual(
      [clustered?.founder, clustered?.generation, clustered?.clusters],
      ['a3', 1, { nb: cidOf('nb'), sb: cidOf('sb') }],
    );
  });

  test('a lost plan is restored from the serving clusters', () => {
    const reports = { a1: empty(1), a2: member(2), a3: member(3, [2, 3, 4]), a4: member(4) };
    const { plan } = decideMembers(viewOf(reports));
    assert.deepEqual(Object.keys(plan?.members ?? {}), ['a2', 'a3', 'a4']);
    assert.equal(plan?.generation, 1);
  });

  test('the plan gets the cluster ids once the founder serves the clusters', () => {
    const { plan } = decideMembers(viewOf({ a1: empty(1) }));
    const founding = plan as Plan;
    assertSame(viewOf({ a1: { ...empty(1), generation: 1 } }, { plan: founding }), /waits for a1 to make nb and sb/);
    const founded = decideMembers(viewOf({ a1: member(1, [1]) }, { plan: founding })).plan;
    assert.deepEqual(founded?.clusters, { nb: cidOf('nb'), sb: cidOf('sb') });
    // A cluster of the former generation, not of this plan.
    const again: Plan = { ...founding, generation: 2, from: { nb: { copy: cidOf('nb') }, sb: { copy: cidOf('sb') } } };
    const before = { ...member(1, [1]), generation: 2 };
    assert.deepEqual(decideMembers(viewOf({ a1: before }, { plan: again })).plan?.clusters, {});
  });

  test('a founder that leaves before it founds is not waited for', () => {
    const { plan } = decideMembers(viewOf({ a1: empty(1) }));
    const next = decideMembers(viewOf({ a2: empty(2) }, { plan })).plan;
    assert.deepEqual([next?.founder, next?.generation], ['a2', 2]);
  });
});

describe('members', () => {
  const three = { a1: member(1, [1, 2, 3]), a2: member(2), a3: member(3) };
  const plan = planOf(1, 2, 3);

  test('the plan stays the same while all members serve', () => {
    assertSame(viewOf(three, { plan }), /^3 of 3 members serve$/);
    assertSame(viewOf({ ...three, a4: empty(4), a5: empty(5) }, { plan }), /^3 of 3/);
  });

  test('a full disk is reported', () => {
    const full = { ...three, a2: { ...member(2), isFull: true as const } };
    assertSame(viewOf(full, { plan }), /^3 of 3 members serve; the disk is nearly full on a2$/);
  });

  test('the cluster grows to the wanted number of members, never to an even number', () => {
    const one = { a1: member(1, [1]), a2: empty(2) };
    assertSame(viewOf(one, { plan: planOf(1) }), /1 of 1/);
    assert.equal(members(viewOf({ ...one, a3: empty(3) }, { plan: planOf(1) })), 'a1 a2 a3');
    const five = { ...three, a4: empty(4), a5: empty(5) };
    assert.equal(members(viewOf(five, { plan, replicas: 5 })), 'a1 a2 a3 a4 a5');
    // A node that is not Ready, or does not report, cannot join.
    const candidates = [candidate(1), candidate(2), candidate(3, 0)];
    assertSame(viewOf({ ...one, a3: empty(3) }, { plan: planOf(1), candidates }), /1 of 1/);
  });

  test('when fewer members are wanted, the serving members stay', () => {
    const reports = { a1: member(1), a2: member(2, [1, 2, 3], [1]), a3: member(3) };
    const { plan: fewer } = decideMembers(viewOf(reports, { plan, replicas: 1 }));
    assert.deepEqual(Object.keys(fewer?.members ?? {}), ['a2', 'a3'], 'one leaves after the other');
    const waiting = viewOf(reports, { plan: fewer, replicas: 1 });
    assertSame(waiting, /waits until ssl:10.0.0.1:6643, ssl:10.0.0.1:6644 has left/);
    const left = { a2: member(2, [2, 3]), a3: member(3) };
    assert.equal(members(viewOf(left, { plan: fewer, replicas: 1 })), 'a2');
  });

  test('a member whose Node is deleted is replaced at once by the oldest candidate; without a candidate one member remains', () => {
    const reports = { ...three, a4: empty(4), a5: empty(5) };
    const candidates = [1, 3, 4, 5].map((number) => candidate(number));
    assert.equal(members(viewOf(reports, { plan, candidates })), 'a1 a3 a4');
    const two = { candidates: [candidate(1), candidate(3)] };
    const { plan: fewer } = decideMembers(viewOf(three, { plan, ...two }));
    assert.deepEqual(Object.keys(fewer?.members ?? {}), ['a1', 'a3'], 'who is gone goes first');
    const left = { a1: member(1, [1, 3]), a3: member(3) };
    assert.equal(members(viewOf(left, { plan: fewer, ...two })), 'a1');
  });

  test('a member whose Node is not Ready is replaced after five minutes, if there is a candidate', () => {
    const late = (sinceMs: number) => [candidate(1), candidate(2, 3_600_000 - sinceMs), candidate(3), candidate(4)];
    const reports = { ...three, a4: empty(4) };
    assertSame(viewOf(reports, { plan, candidates: late(299_000) }), /3 of 3/);
    assert.equal(members(viewOf(reports, { plan, candidates: late(300_000) })), 'a1 a3 a4');
    assertSame(viewOf(three, { plan, candidates: late(300_000).slice(0, 3) }), /3 of 3/);
  });

  test('members are replaced one at a time, and only while the others are connected', () => {
    const reports = { ...three, a4: empty(4), a5: empty(5) };
    const candidates = [1, 4, 5].map((number) => candidate(number));
    const first = decideMembers(viewOf(reports, { plan, candidates })).plan;
    assert.deepEqual(Object.keys(first?.members ?? {}), ['a1', 'a3', 'a4']);
    assertSame(viewOf(reports, { plan: first, candidates }), /a4 cannot be reached/);
    const silent = { ...reports, a1: member(1, [1, 2, 3], [3]) };
    assertSame(viewOf(silent, { plan, candidates: [1, 3, 4].map((number) => candidate(number)) }), /a3 cannot be/);
  });

  test('the message without a majority names the annotation for recovery', () => {
    const reports: Record<string, Report> = { a1: { ...member(1) }, a2: member(2), a3: member(3) };
    assertSame(viewOf(reports, { plan }), /0 of 3 members serve.*isthmus\.network\/recover/);
  });

  test('members stay when all of their Nodes seem to be deleted', () => {
    assertSame(viewOf(three, { plan, candidates: [] }), /the Nodes of all members are gone/);
  });

  test('a member whose address changes gets the new address in the plan', () => {
    const moved = { ...three, a2: { ...member(2), address: '10.0.0.9' } };
    assert.equal(decideMembers(viewOf(moved, { plan })).plan?.members['a2'], '10.0.0.9');
    const alone = decideMembers(viewOf({ a1: { ...member(1), address: '10.0.0.9' } }, { plan: planOf(1) })).plan;
    assert.deepEqual(alone, {
      generation: 2,
      founder: 'a1',
      from: { nb: { copy: cidOf('nb') }, sb: { copy: cidOf('sb') } },
      clusters: {},
      members: { a1: '10.0.0.9' },
    });
    assert.equal(addressOf(1), plan.members['a1']);
  });

  test('with TLS switched off, a member that a majority would elect founds anew once all members wait', () => {
    /** The servers of the former generation, all stopped. */
    const stopped = (number: number, index: number, term = 1): Report => {
      const before = member(number);
      return {
        ...before,
        databases: both((name): DatabaseReport => ({
          model: 'clustered',
          cid: cidOf(name),
          sid: idOf(name, number),
          address: before.databases[name].address ?? '',
          end: { term, index },
        })),
      };
    };
    const off = { plan, scheme: 'tcp' } as const;
    const waits = /waits until a2, a3 listens by tcp/;
    assertSame(viewOf({ ...three, a1: stopped(1, 5) }, off), waits);
    const all = { a1: stopped(1, 5), a2: stopped(2, 7), a3: stopped(3, 6) };
    assertSame(viewOf(all, { plan }), /0 of 3 members serve/);
    const next = decideMembers(viewOf(all, off)).plan;
    const from = { nb: { copy: cidOf('nb') }, sb: { copy: cidOf('sb') } };
    assert.deepEqual(next, { ...plan, generation: 2, founder: 'a2', from, clusters: {} });
    // A node that is down cannot be waited for.
    const candidates = [candidate(1), candidate(2), candidate(3, 3_599_000)];
    const without = decideMembers(viewOf({ ...three, a1: stopped(1, 8), a2: stopped(2, 7) }, { ...off, candidates }));
    assert.equal(without.plan?.founder, 'a1');
    // The term counts before the index: entries of a deposed leader were never committed.
    const deposed = { a1: stopped(1, 9), a2: stopped(2, 7, 2), a3: stopped(3, 6, 2) };
    assert.equal(decideMembers(viewOf(deposed, off)).plan?.founder, 'a2');
    // The other two nodes may have committed more.
    const late = [candidate(1), candidate(2, 3_599_000), candidate(3, 3_599_000)];
    assertSame(viewOf({ ...three, a1: stopped(1, 8) }, { ...off, candidates: late }), /no majority .*recover: <node>/);
    const alone = decideMembers(viewOf({ a1: stopped(1, 5) }, { scheme: 'tcp', plan: planOf(1) })).plan;
    assert.deepEqual([alone?.generation, alone?.founder, alone?.members], [2, 'a1', { a1: '10.0.0.1' }]);
  });
});
