import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { AclOrigin, AclRules } from '../../lib/policies/acl-text.ts';
import type { FlowCount } from '../model/flow-count.ts';
import { PolicyCounts, type CountReading } from './policy-counts.ts';

const rule = (changes: Partial<AclRules> = {}): AclRules => ({
  kind: 'NetworkPolicy',
  namespace: 'shop',
  name: 'web',
  direction: 'ingress',
  rules: [0],
  verdict: 'allow',
  ...changes,
});

const flow = (cookie: number, packets: number, changes: Partial<FlowCount> = {}): FlowCount => ({
  cookie,
  table: 44,
  flow: `a${cookie}`,
  ageMs: 1000,
  packets,
  output: undefined,
  ...changes,
});

function reading(
  origins: Readonly<Record<number, AclOrigin>>,
  flows: readonly FlowCount[],
  changes: Partial<CountReading> = {},
): CountReading {
  const byCookie = new Map(Object.entries(origins).map(([cookie, origin]) => [Number(cookie), origin]));
  return { atMs: 0, flows, origins: byCookie, isolatedBy: () => [], hasPolicy: () => true, ...changes };
}

const packetsOf = (counts: PolicyCounts): readonly (readonly [string, number])[] =>
  [...counts.rules].map(({ policy, rule: place, packets }) => [`${policy} ${place}`, packets] as const);

describe('counts of policies', () => {
  it('add up the flows of a rule', () => {
    const counts = new PolicyCounts();
    const flows = [flow(1, 3), flow(1, 4, { flow: 'b' }), flow(2, 5), flow(9, 100)];
    counts.take(reading({ 1: rule(), 2: rule(), 3: rule({ rules: [1, 2], verdict: 'allow' }) }, flows));
    assert.deepEqual(packetsOf(counts), [['web 0', 12]]);
  });

  it('go on where flows are replaced', () => {
    const counts = new PolicyCounts();
    const origins = { 1: rule() };
    counts.take(reading(origins, [flow(1, 10)]));
    counts.take(reading(origins, [flow(1, 12, { ageMs: 2000 })]));
    assert.deepEqual(packetsOf(counts), [['web 0', 12]]);
    // A younger flow is another one, also if it has counted more.
    counts.take(reading(origins, [flow(1, 20, { ageMs: 500 })]));
    assert.deepEqual(packetsOf(counts), [['web 0', 32]]);
    counts.take(reading(origins, []));
    counts.take(reading(origins, [flow(1, 1, { ageMs: 9000 })]));
    assert.deepEqual(packetsOf(counts), [['web 0', 33]]);
  });

  it('of a policy that takes over the flow of an equal one begin at zero', () => {
    const counts = new PolicyCounts();
    const [first, second] = [rule(), rule({ name: 'same' })];
    const flowOf = (cookie: number, packets: number, ageMs: number): FlowCount =>
      flow(cookie, packets, { flow: 'a', ageMs });
    counts.take(reading({ 1: first, 2: second }, [flowOf(1, 100, 9000)]));
    assert.deepEqual(packetsOf(counts), [['web 0', 100]]);
    // Open vSwitch copies the packets to the flow with the other cookie.
    counts.take(reading({ 2: second }, [flowOf(2, 103, 500)]));
    assert.deepEqual(packetsOf(counts), [['same 0', 3]]);
    counts.take(reading({ 2: second }, [flowOf(2, 104, 5500)]));
    assert.deepEqual(packetsOf(counts), [['same 0', 4]]);
  });

  it('go on at another place where a rule moves, also if readings in between lack the flow', () => {
    const counts = new PolicyCounts();
    const [before, after] = [rule({ rules: [0, 1] }), rule({ rules: [1] })];
    counts.take(reading({ 1: before }, [flow(1, 100, { flow: 'a' })]));
    // The database is ahead of the bridge, where the flow has the former cookie still.
    for (const atMs of [100, 30_000]) counts.take(reading({ 2: after }, [], { atMs }));
    counts.take(reading({ 2: after }, [flow(2, 107, { flow: 'a', ageMs: 500 })], { atMs: 60_000 }));
    assert.deepEqual(packetsOf(counts), [['web 1', 7]]);
    // A flow that was away for long is a new one.
    counts.take(reading({ 3: after }, [], { atMs: 150_000 }));
    counts.take(reading({ 3: after }, [flow(3, 108, { flow: 'a', ageMs: 500 })], { atMs: 155_000 }));
    assert.deepEqual(packetsOf(counts), [['web 1', 115]]);
  });

  it('of flows without packets are there, and what these count later is theirs', () => {
    const counts = new PolicyCounts();
    const [first, second] = [{ 1: rule() }, { 2: rule({ rules: [1] }) }];
    counts.take(reading(first, [flow(1, 0), flow(1, 0, { flow: 'b' })]));
    assert.deepEqual(packetsOf(counts), [['web 0', 0]]);
    counts.take(reading(first, [flow(1, 4, { flow: 'b' })]));
    assert.deepEqual(packetsOf(counts), [['web 0', 4]]);
    // The flow was removed, and added for another rule.
    counts.take(reading(second, [flow(2, 0, { flow: 'b' })]));
    counts.take(reading(second, [flow(2, 5, { flow: 'b' })]));
    assert.deepEqual(packetsOf(counts), [['web 1', 5]]);
  });

  it('end with the rule', () => {
    const counts = new PolicyCounts();
    counts.take(reading({ 1: rule(), 2: rule({ rules: [1] }) }, [flow(1, 1), flow(2, 2)]));
    counts.take(reading({ 2: rule({ rules: [1] }) }, [flow(2, 2)]));
    assert.deepEqual(packetsOf(counts), [['web 1', 2]]);
  });

  it('of a drop of isolated pods are at each policy that isolates the pod', () => {
    const counts = new PolicyCounts();
    const origins = { 1: { direction: 'ingress', rules: undefined } } as const;
    const isolatedBy = (one: FlowCount): readonly { namespace: string; name: string }[] =>
      one.outPort === 7 ? ['a', 'b'].map((name) => ({ namespace: 'shop', name })) : [];
    const flows = [flow(1, 5, { outPort: 7 }), flow(1, 9, { flow: 'b', outPort: 8 })];
    counts.take(reading(origins, flows, { isolatedBy }));
    const now = [...counts.isolation].map(({ policy, packets }) => [policy, packets]);
    assert.deepEqual(now, [
      ['a', 5],
      ['b', 5],
    ]);
    counts.take(reading(origins, flows, { isolatedBy, hasPolicy: (_, name) => name === 'b' }));
    assert.deepEqual(
      [...counts.isolation].map(({ policy, packets }) => [policy, packets]),
      [['b', 5]],
    );
  });

  it('of many rules and policies share a count', () => {
    const counts = new PolicyCounts({ ofPolicy: 2, all: 4 });
    const origins: Record<number, AclRules> = {};
    const flows: FlowCount[] = [];
    for (const [index, name] of ['a', 'b', 'c', 'd'].entries())
      for (let place = 0; place < 4; place++) {
        const cookie = index * 10 + place;
        origins[cookie] = rule({ name, rules: [place] });
        flows.push(flow(cookie, 1));
      }
    counts.take(reading(origins, flows));
    assert.deepEqual(packetsOf(counts), [
      ['a 0', 1],
      ['a 1', 1],
      ['a other', 2],
      ['b 0', 1],
      ['other other', 11],
    ]);
    const later = flows.map((one) => ({ ...one, packets: 2 }));
    counts.take(reading(origins, later));
    assert.equal(
      packetsOf(counts).reduce((sum, [, packets]) => sum + packets, 0),
      32,
    );
  });

  it('make room for others once policies are gone', () => {
    const counts = new PolicyCounts({ ofPolicy: 2, all: 2 });
    const [first, second] = [{ 1: rule({ name: 'a' }), 2: rule({ name: 'b' }) }, { 3: rule({ name: 'c' }) }];
    counts.take(reading(first, [flow(1, 1), flow(2, 1)]));
    counts.take(reading(second, []));
    counts.take(reading(second, [flow(3, 4)]));
    assert.deepEqual(packetsOf(counts), [['c 0', 4]]);
  });
});
