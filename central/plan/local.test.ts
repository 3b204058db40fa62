import assert from 'node:assert/strict';
import { test } from 'node:test';
import { raftAddress } from '../model/databases.ts';
import type { Copy, DatabaseFile } from '../model/copy.ts';
import type { Plan } from '../model/plan.ts';
import type { Report } from '../model/report.ts';
import { planDatabase, type LocalView } from './local.ts';
import { addressOf, cidOf, idOf, member, planOf } from '../settle/testing-reports.ts';

const own = (number: number): string => raftAddress('ssl', 'nb', addressOf(number));

function clustered(number: number, cid: string | undefined = cidOf('nb')): DatabaseFile {
  return { model: 'clustered', sid: idOf('nb', number), address: own(number), cid };
}

function view(number: number, plan: Plan | undefined, file: DatabaseFile, more: Partial<LocalView> = {}): LocalView {
  const copy: Copy = { file, server: undefined };
  const base = {
    name: 'nb',
    node: `a${number}`,
    address: addressOf(number),
    scheme: 'ssl',
    reports: new Map(),
  } as const;
  return { ...base, plan, copy, ...more };
}

function actionText(view: LocalView): string {
  const { instruction } = planDatabase(view);
  if (instruction.verb === 'create') return `create ${instruction.copy} ${instruction.backup ?? ''}`.trim();
  return instruction.verb === 'join' ? `join ${instruction.remotes.join(' ')}` : instruction.verb;
}

const led = (...servers: number[]): ReadonlyMap<string, Report> => new Map([['a1', member(1, servers)]]);

/** The leader reports that this server is not in its cluster. */
function takenOut(number: number): ReadonlyMap<string, Report> {
  const leader = member(1, [1, 2]);
  const databases = { ...leader.databases, nb: { ...leader.databases.nb, strangers: [idOf('nb', number)] } };
  return new Map([['a1', { ...leader, databases }]]);
}

const founding: Plan = { ...planOf(1, 2, 3), clusters: {}, from: { nb: { copy: 'none' } } };

test('without a plan no database is created, and a member continues to serve', () => {
  assert.equal(actionText(view(1, undefined, { model: 'none' })), 'wait');
  assert.equal(actionText(view(1, undefined, { model: 'standalone' })), 'wait');
  assert.equal(actionText(view(1, undefined, clustered(1))), 'serve');
  assert.equal(actionText(view(1, undefined, clustered(1), { address: '10.0.0.9' })), 'wait');
});

test('the founder creates the database once, from the copy that the plan names', () => {
  assert.equal(actionText(view(1, founding, { model: 'none' })), 'create none');
  assert.equal(actionText(view(1, founding, clustered(1))), 'serve');
  assert.equal(actionText(view(1, founding, { model: 'standalone' })), 'wait');
  assert.equal(actionText(view(2, founding, { model: 'none' })), 'wait');
  const standalone: Plan = { ...founding, from: { nb: { copy: 'standalone' } } };
  assert.equal(actionText(view(1, standalone, { model: 'standalone' })), 'create standalone');
  const restored: Plan = { ...founding, from: { nb: { copy: cidOf('nb'), backup: '20260131T000000Z' } } };
  assert.equal(actionText(view(1, restored, clustered(1))), `create ${cidOf('nb')} nb-20260131T000000Z.db`);
  assert.equal(actionText(view(1, restored, clustered(1, cidOf('nb', 2)))), 'serve');
  // The servers of the former generation stop, and keep their copies until the new generation exists.
  assert.equal(actionText(view(2, restored, clustered(2))), 'wait');
});

test('a copy of the cluster is served without reports from other nodes', () => {
  assert.equal(actionText(view(2, planOf(1, 2, 3), clustered(2))), 'serve');
  assert.equal(actionText(view(4, planOf(1, 2, 3), clustered(4))), 'serve');
});

test('a node without a copy joins once its former server is removed', () => {
  const plan = planOf(1, 2, 3);
  assert.equal(actionText(view(3, plan, { model: 'none' })), 'wait');
  assert.equal(actionText(view(3, plan, { model: 'none' }, { reports: led(1, 2) })), `join ${own(1)} ${own(2)}`);
  const lost = planDatabase(view(3, plan, { model: 'none' }, { reports: led(1, 2, 3) }));
  assert.deepEqual([lost.instruction.verb, lost.lost], ['wait', idOf('nb', 3).slice(0, 4)]);
  assert.equal(actionText(view(4, plan, { model: 'none' }, { reports: led(1, 2) })), 'wait');
  const alone = planDatabase(view(1, planOf(1), { model: 'none' }));
  assert.match(alone.why ?? '', /the only copy of the nb database is gone/);
});

test('a copy is moved aside if it is of another generation or its server was removed', () => {
  const plan = planOf(1, 2, 3);
  assert.equal(actionText(view(2, plan, clustered(2, cidOf('nb', 2)))), 'wipe');
  assert.equal(actionText(view(2, plan, { model: 'standalone' })), 'wipe');
  const reports = takenOut(3);
  assert.equal(actionText(view(3, plan, clustered(3), { reports })), 'wipe');
  assert.equal(actionText(view(2, plan, clustered(2), { reports })), 'serve');
  // A list alone is not enough: it may be older than this member.
  assert.equal(actionText(view(3, plan, clustered(3), { reports: led(1, 2) })), 'serve');
});

test('a database that the plan does not account for is not moved aside', () => {
  const plan: Plan = { ...planOf(1, 2, 3), from: { nb: { copy: 'none' } } };
  const decision = planDatabase(view(2, plan, { model: 'standalone' }));
  assert.equal(decision.instruction.verb, 'wait');
  assert.match(decision.why ?? '', /isthmus\.network\/recover: a2/);
});

test('a node whose address changed joins again once its former server is removed', () => {
  const plan: Plan = { ...planOf(1, 2, 3), members: { ...planOf(1, 2, 3).members, a3: '10.0.0.9' } };
  const moved = { address: '10.0.0.9' };
  assert.equal(actionText(view(3, plan, clustered(3), moved)), 'wait');
  // Reports from before the loss of all servers also say that one leads.
  assert.equal(actionText(view(3, plan, clustered(3), { ...moved, reports: led(1, 2, 3) })), 'wait');
  assert.equal(actionText(view(3, plan, clustered(3), { ...moved, reports: takenOut(3) })), 'wipe');
  assert.equal(
    actionText(view(3, plan, { model: 'none' }, { ...moved, reports: led(1, 2) })),
    `join ${own(1)} ${own(2)}`,
  );
});

test('a joining server continues while the plan has its node', () => {
  const file: DatabaseFile = {
    ...clustered(3),
    model: 'clustered',
    cid: undefined,
    joins: cidOf('nb'),
  } as DatabaseFile;
  assert.equal(actionText(view(3, planOf(1, 2, 3), file)), 'serve');
  assert.equal(actionText(view(3, planOf(1, 2, 4), file)), 'wipe');
  assert.equal(actionText(view(3, { ...planOf(1, 2, 3), clusters: { nb: cidOf('nb', 2) } }, file)), 'wipe');
});

test('a server that gave up the database is restarted, unless it was removed from the cluster', () => {
  const isSpent = (reports: ReadonlyMap<string, Report>): boolean => {
    const copy: Copy = { file: clustered(2), server: undefined, isGivenUp: true };
    const decision = planDatabase(view(2, planOf(1, 2, 3), clustered(2), { copy, reports }));
    assert.equal(decision.instruction.verb, 'serve');
    return decision.isSpent === true;
  };
  assert.deepEqual([isSpent(led(1, 2, 3)), isSpent(led(1, 3)), isSpent(new Map())], [true, false, true]);
});
