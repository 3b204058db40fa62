import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { compilePolicies } from '../../../lib/route-policy/compile.ts';
import { limitPrefixes, overLimit } from './limit.ts';
import { policy } from './testing.ts';

const on = (transitSwitch: string, ...cidrs: string[]) => cidrs.map((cidr) => ({ transitSwitch, cidr }));
const texts = (refused: ReturnType<typeof limitPrefixes>) =>
  refused.map(({ prefix, policy: name }) => `${prefix.transitSwitch} ${prefix.cidr} ${name}`);

describe('maxPrefixes', () => {
  it('keeps the lowest addresses, IPv4 first, regardless of the order of offers', () => {
    const set = compilePolicies([policy('p', { maxPrefixes: 3 })]);
    const prefixes = on('ts', 'fd00::/64', '10.9.0.0/16', '10.10.0.0/16', '9.0.0.0/8', '10.9.0.0/24');
    const expected = ['ts 10.10.0.0/16 p', 'ts fd00::/64 p'];
    assert.deepEqual(texts(limitPrefixes(set, 'west', prefixes)).sort(), expected);
    assert.deepEqual(texts(limitPrefixes(set, 'west', prefixes.toReversed())).sort(), expected);
  });

  it('refuses none up to the limit, all with 0, none without', () => {
    const two = on('ts', '10.0.0.0/8', '11.0.0.0/8');
    const refused = (maxPrefixes?: number) =>
      limitPrefixes(compilePolicies([policy('p', maxPrefixes === undefined ? {} : { maxPrefixes })]), 'west', two)
        .length;
    assert.equal(refused(2), 0);
    assert.equal(refused(1), 1);
    assert.equal(refused(0), 2);
    assert.equal(refused(), 0);
  });

  it('names cluster, policy and limit', () => {
    const set = compilePolicies([policy('tight', { maxPrefixes: 1 })]);
    const [refusal] = limitPrefixes(set, 'west', on('ts', '10.0.0.0/8', '11.0.0.0/8'));
    assert.equal(refusal?.problem.code, 'MaxPrefixes');
    assert.match(
      refusal.problem.message,
      /11\.0\.0\.0\/8 of west is beyond maxPrefixes 1 of RoutePolicy tight.*offers 2/,
    );
  });

  it('counts a prefix on two transit switches once and refuses it on both', () => {
    const set = compilePolicies([policy('p', { maxPrefixes: 1 })]);
    const prefixes = [...on('ts', '10.0.0.0/8', '11.0.0.0/8'), ...on('tt', '10.0.0.0/8', '11.0.0.0/8')];
    const refused = limitPrefixes(set, 'west', prefixes);
    assert.deepEqual(texts(refused), ['ts 11.0.0.0/8 p', 'tt 11.0.0.0/8 p']);
    assert.deepEqual(overLimit(refused), new Map([['p', 1]]));
    assert.deepEqual(overLimit([...refused, ...limitPrefixes(set, 'north', prefixes)]), new Map([['p', 2]]));
  });

  it('counts on its transit switches only, and ignores prefixes that an earlier policy refused', () => {
    const set = compilePolicies([
      policy('a', { priority: 1, transitSwitches: ['tt'], maxPrefixes: 0 }),
      policy('b', { priority: 2, maxPrefixes: 2 }),
    ]);
    const prefixes = [...on('tt', '9.0.0.0/8'), ...on('ts', '10.0.0.0/8', '11.0.0.0/8', '12.0.0.0/8')];
    assert.deepEqual(texts(limitPrefixes(set, 'west', prefixes)), ['tt 9.0.0.0/8 a', 'ts 12.0.0.0/8 b']);
  });
});
