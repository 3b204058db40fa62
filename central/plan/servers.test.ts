import assert from 'node:assert/strict';
import { test } from 'node:test';
import { raftAddress } from '../model/databases.ts';
import type { ListedServer, Server } from '../model/copy.ts';
import type { Plan } from '../model/plan.ts';
import type { Report } from '../model/report.ts';
import { planRemoval } from './servers.ts';
import { addressOf, cidOf, empty, idOf, planOf } from '../settle/testing-reports.ts';

const own = (number: number): string => raftAddress('ssl', 'nb', addressOf(number));

/** Server 1 leads the others; the leader does not hear from those in `silent`. */
function leader(servers: readonly number[], silent: readonly number[] = []): Server {
  return {
    sid: idOf('nb', 1),
    cid: cidOf('nb'),
    address: own(1),
    isJoining: false,
    role: 'leader',
    term: 1,
    isConnected: true,
    electionTimerMs: 1000,
    leadingMs: 60_000,
    servers: servers.map((number): ListedServer => ({
      sid: idOf('nb', number).slice(0, 4),
      address: own(number),
      isSelf: number === 1,
      silentMs: silent.includes(number) || number === 1 ? undefined : 10,
    })),
  };
}

function removed(plan: Plan, server: Server, reports: ReadonlyMap<string, Report> = new Map()): string | undefined {
  return planRemoval({ name: 'nb', scheme: 'ssl', plan, server, reports })?.server.address;
}

test('servers of members in the plan stay', () => {
  assert.equal(removed(planOf(1, 2, 3), leader([1, 2, 3], [3])), undefined);
});

test('a dead server is removed at once, a live server once all members have joined', () => {
  assert.equal(removed(planOf(1, 2, 4), leader([1, 2, 3], [3])), own(3));
  assert.equal(removed(planOf(1, 2, 4), leader([1, 2, 3])), undefined);
  assert.equal(removed(planOf(1, 2, 4), leader([1, 2, 3, 4])), own(3));
});

test('no server is removed if the rest would have no live majority', () => {
  assert.equal(removed(planOf(1, 2, 4), leader([1, 2, 3], [2, 3])), undefined);
  assert.equal(removed(planOf(1), leader([1, 2, 3], [2, 3])), undefined);
  assert.equal(removed(planOf(1), leader([1, 2], [2])), own(2));
});

test('the leader is removed last', () => {
  assert.equal(removed(planOf(2), leader([1, 2, 3])), own(3));
  assert.equal(removed(planOf(2), leader([1, 2])), own(1));
});

test('a server whose disk is lost is removed, although its node is in the plan', () => {
  const report = empty(3);
  const databases = { ...report.databases, nb: { model: 'none', lost: idOf('nb', 3).slice(0, 4) } as const };
  assert.equal(removed(planOf(1, 2, 3), leader([1, 2, 3], [3]), new Map([['a3', { ...report, databases }]])), own(3));
});

test('a follower, the leader of another cluster and a new leader remove no server', () => {
  const plan = planOf(1, 2, 4);
  assert.equal(removed(plan, { ...leader([1, 2, 3], [3]), role: 'follower' }), undefined);
  assert.equal(removed(plan, { ...leader([1, 2, 3], [3]), cid: cidOf('nb', 2) }), undefined);
  assert.equal(removed(plan, { ...leader([1, 2, 3], [3]), leadingMs: 1000 }), undefined);
});
