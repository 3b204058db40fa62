import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import type { OvsdbClient } from 'ovsdb-client';
import { TransactionRejected } from 'ovsdb-client';
import { NorthboundBed } from './northbound-bed.ts';
import type { OvsdbTarget } from './ovsdb-target.ts';
import type { Desired } from './row.ts';

const policies = 300;
const few = 100;
const aclsOfPolicy = 4;
/** Of an ACL, the schema has at most 32767. */
const tooHigh = 40_000;

function policy(name: string, priority = 1000, together?: string): Desired {
  const rows = Array.from({ length: aclsOfPolicy }, (_, index) => ({
    table: 'ACL',
    key: `${name}.${index}`,
    columns: { match: `ip4 && tcp.dst == ${index}`, action: 'allow-related', direction: 'to-lport', priority },
    parent: { table: 'Port_Group', key: name, column: 'acls' },
  }));
  return {
    rows: [{ table: 'Port_Group', key: name, columns: {} }, ...rows],
    ...(together !== undefined && { together }),
  };
}

describe('rows that the database refuses', () => {
  let bed: NorthboundBed;
  let target: OvsdbTarget;
  /** Transactions that were sent, with their operations. */
  let sent: number[];
  /** What the server says to the next ones. */
  let answers: TransactionRejected[];

  before(async () => {
    bed = await NorthboundBed.start();
  });
  after(() => bed.stop());
  beforeEach(async () => {
    await bed.reset();
    [sent, answers] = [[], []];
    const client = new Proxy(bed.client, {
      get(of, property) {
        const value: unknown = Reflect.get(of, property, of);
        if (typeof value !== 'function') return value;
        return (...args: unknown[]) => {
          if (property !== 'transact') return Reflect.apply(value, of, args) as unknown;
          sent.push((args[0] as readonly unknown[]).length);
          const answer = answers.pop();
          return answer === undefined ? (Reflect.apply(value, of, args) as unknown) : Promise.reject(answer);
        };
      },
    });
    target = bed.open({ client: client satisfies OvsdbClient });
  });

  const groups = (): number => bed.rows('Port_Group').length;
  const codes = (): readonly string[] =>
    [...bed.problems].flatMap(([owner, problem]) => (problem === undefined ? [] : [`${owner} ${problem.code}`]));
  async function write(bad: readonly number[], together?: string, count = few): Promise<void> {
    for (let i = 0; i < count; i += 1)
      target.set(`policy/p${i}`, policy(`p${i}`, bad.includes(i) ? tooHigh : 1000, together));
    await target.untilApplied();
  }

  it('do not hold up the other 299 policies, whose rows stay in one transaction', async () => {
    await write([217], 'policies', policies);
    assert.equal(groups(), policies - 1);
    assert.deepEqual(codes(), ['policy/p217 DatabaseRefused']);
    const rowsOf = (count: number): number => count * (1 + aclsOfPolicy);
    assert.deepEqual(sent, [rowsOf(policies), rowsOf(policies - 1), rowsOf(1)]);
    sent.length = 0;
    target.set('policy/p5', policy('p5', 1001));
    await target.untilApplied();
    assert.ok(sent.includes(aclsOfPolicy), 'the next change is written without them');
    assert.ok(
      sent.every((operations) => operations <= rowsOf(1)),
      sent.join(),
    );
  });

  it('are found where there are many', async () => {
    const bad = Array.from({ length: 10 }, (_, index) => index * 10);
    await write(bad, 'policies');
    assert.equal(groups(), few - bad.length);
    assert.deepEqual(codes().length, bad.length);
  });

  it('keep what was there, and are in force once they are right', async () => {
    await write([]);
    target.set('policy/p7', policy('p7', tooHigh));
    target.set('policy/p8', policy('p8', 1002));
    await target.untilApplied();
    assert.equal(bed.rows('ACL').filter((row) => row['priority'] === 1002).length, aclsOfPolicy);
    assert.equal(bed.rows('ACL').length, few * aclsOfPolicy);
    assert.equal(bed.problems.get('policy/p7')?.code, 'DatabaseRefused');
    target.set('policy/p7', policy('p7', 1003));
    await target.untilApplied();
    assert.equal(bed.problems.get('policy/p7'), undefined);
    assert.equal(bed.rows('ACL').filter((row) => row['priority'] === 1003).length, aclsOfPolicy);
  });

  it('are not blamed for a server that is out of order: the same transaction is sent again', async () => {
    answers.push(new TransactionRejected({ error: 'I/O error' }));
    await write([], 'policies');
    assert.equal(groups(), few);
    assert.deepEqual(codes(), []);
    assert.equal(sent.length, 2);
    assert.equal(sent[0], sent[1]);
  });

  it('are sent less and less often while the server is out of order', async () => {
    answers.push(...Array.from({ length: 3 }, () => new TransactionRejected({ error: 'I/O error' })));
    const startMs = performance.now();
    await write([], 'policies', 3);
    assert.deepEqual([groups(), codes(), sent.length], [3, [], 4]);
    assert.ok(performance.now() - startMs >= 1390, '200, 400 and 800 ms');
  });
});
