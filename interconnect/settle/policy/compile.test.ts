import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { compilePolicies, noPolicies } from '../../../lib/route-policy/compile.ts';
import { importVerdict } from './import.ts';
import { policy } from './testing.ts';

const rule = (match: object, rest: object = {}) => ({ match, ...rest });
const ranges = (...prefixes: object[]) => rule({ prefixes });
const problemOf = (rules: readonly object[], direction: 'Import' | 'Export' = 'Export') =>
  compilePolicies([policy('p', { direction, rules })]).judged.get('p')?.problem;

describe('validation of a policy', () => {
  const cases: readonly [string, object, string, RegExp][] = [
    ['no CIDR', ranges({ cidr: '10.0.0.0' }), 'PrefixInvalid', /rules\[0\]\.match\.prefixes\[0\]\.cidr: "10\.0\.0\.0"/],
    ['host bits', ranges({ cidr: '10.0.0.1/8' }), 'PrefixInvalid', /host bits set; write 10\.0\.0\.0\/8/],
    ['host bits of IPv6', ranges({ cidr: 'fd00::1/64' }), 'PrefixInvalid', /write fd00::\/64/],
    ['le beyond the family', ranges({ cidr: '10.0.0.0/8', le: 33 }), 'MaskInvalid', /longer than 32/],
    ['ge beyond the family', ranges({ cidr: '10.0.0.0/8', ge: 64 }), 'MaskInvalid', /longer than 32/],
    ['ge before the mask', ranges({ cidr: '10.0.0.0/16', ge: 8 }), 'MaskInvalid', /shorter than 16/],
    ['le before the mask', ranges({ cidr: '10.0.0.0/16', le: 8 }), 'MaskInvalid', /shorter than 16/],
    ['no aggregate', rule({}, { aggregate: 'ten' }), 'AggregateInvalid', /rules\[0\]\.aggregate: "ten"/],
    ['host bits of an aggregate', rule({}, { aggregate: '10.1.0.0/8' }), 'AggregateInvalid', /write 10\.0\.0\.0\/8/],
    ['everything as an aggregate', rule({}, { aggregate: '0.0.0.0/0' }), 'AggregateInvalid', /everything/],
    [
      'a community that does not fit 16 bits',
      rule({}, { setBgp: { communities: { standard: ['65001:70000'] } } }),
      'CommunityInvalid',
      /rules\[0\]\.setBgp: community 65001:70000 has a part above 65535/,
    ],
    [
      'a large community that begins with the reserved AS',
      rule({}, { setBgp: { communities: { large: ['4294967295:1:1'] } } }),
      'CommunityInvalid',
      /4294967295:1:1/,
    ],
    [
      'a next hop of the other family',
      rule({}, { setBgp: { nextHop: { ipv4: 'fd00::9' } } }),
      'NextHopInvalid',
      /rules\[0\]\.setBgp: nextHop\.ipv4 is fd00::9/,
    ],
    [
      'an aggregate elsewhere',
      rule({ prefixes: [{ cidr: '10.16.0.0/16', le: 24 }] }, { aggregate: '10.32.0.0/12' }),
      'AggregateOutside',
      /10\.32\.0\.0\/12/,
    ],
    [
      'an aggregate of the other family',
      rule({ prefixes: [{ cidr: '10.16.0.0/16' }] }, { aggregate: 'fd00::/8' }),
      'AggregateOutside',
      /fd00::\/8/,
    ],
    [
      'an aggregate longer than what matches',
      rule({ prefixes: [{ cidr: '10.0.0.0/8', le: 12 }] }, { aggregate: '10.16.0.0/16' }),
      'AggregateOutside',
      /10\.16\.0\.0\/16/,
    ],
  ];
  for (const [name, one, code, message] of cases) {
    it(name, () => {
      const problem = problemOf([one]);
      assert.equal(problem?.code, code);
      assert.match(problem.message, message);
    });
  }

  it('names every invalid field, or the first of many', () => {
    const message = problemOf(Array.from({ length: 5 }, () => ranges({ cidr: 'x' })))?.message ?? '';
    assert.match(message, /rules\[0\].*rules\[1\].*rules\[2\].*and 2 more$/);
  });

  it('accepts unusual but valid specs', () => {
    for (const one of [
      rule({}),
      ranges({ cidr: '0.0.0.0/0', ge: 0 }),
      ranges({ cidr: '::/0', le: 128 }),
      ranges({ cidr: 'FD00::/8', ge: 8, le: 8 }),
      rule({ prefixes: [{ cidr: '10.0.0.0/8', le: 32 }] }, { aggregate: '10.16.0.0/16' }),
      rule({ prefixes: [{ cidr: '10.16.0.0/16' }, { cidr: '192.0.2.0/24' }] }, { aggregate: '10.16.0.0/16' }),
    ])
      assert.equal(problemOf([one]), undefined, JSON.stringify(one));
  });
});

describe('a policy that turns invalid', () => {
  const offered = { cluster: 'west', vpc: 'v', transitSwitch: 'ts', origin: 'connected', tags: [], cidr: '10.0.0.0/8' };
  const denyAll = { rules: [{ action: 'Deny' }] };
  const broken = { rules: [ranges({ cidr: 'x' })] };

  it('stays in force as it was last valid, also after a restart, until its object is deleted', () => {
    const valid = compilePolicies([policy('p', denyAll)]);
    const kept = compilePolicies([policy('p', broken, { generation: 2 })], valid);
    assert.equal(importVerdict(kept, offered).allowed, false);
    assert.equal(kept.judged.get('p')?.problem?.code, 'PrefixInvalid');

    const keptAgain = compilePolicies([policy('p', broken, { generation: 3 })], kept);
    assert.equal(importVerdict(keptAgain, offered).allowed, false);

    const inForce = keptAgain.judged.get('p')?.applied?.spec;
    const restarted = compilePolicies([policy('p', broken, { generation: 3, inForce })]);
    assert.equal(importVerdict(restarted, offered).allowed, false);

    const other = compilePolicies([policy('p', broken, { uid: 'other', generation: 1 })], keptAgain);
    assert.equal(importVerdict(other, offered).allowed, true);
    assert.equal(compilePolicies([], keptAgain).imports.length, 0);
  });

  it('is not applied at all if it never was valid, including its valid fields', () => {
    const set = compilePolicies([policy('p', { rules: [...broken.rules, { action: 'Deny' }] })]);
    assert.equal(importVerdict(set, offered).allowed, true);
  });

  it('is applied again once corrected', () => {
    const invalid = compilePolicies([policy('p', broken)]);
    const valid = compilePolicies([policy('p', denyAll, { generation: 2 })], invalid);
    assert.equal(importVerdict(valid, offered).allowed, false);
    assert.equal(valid.judged.get('p')?.problem, undefined);
  });

  it('does not affect other policies', () => {
    const set = compilePolicies([policy('a', broken), policy('b', denyAll)]);
    assert.equal(importVerdict(set, offered).allowed, false);
  });
});

describe('compiling again', () => {
  it('returns the same set while no spec changed, even if statuses changed', () => {
    const first = compilePolicies([policy('a', {}), policy('b', { direction: 'Export' })]);
    const same = compilePolicies([policy('b', {}, { resourceVersion: '9' }), policy('a', {})], first);
    assert.equal(same, first);
    assert.notEqual(compilePolicies([policy('a', {})], first), first);
    assert.notEqual(compilePolicies([policy('a', {}, { generation: 2 }), policy('b', {})], first), first);
    assert.equal(compilePolicies([]), noPolicies);
  });

  it('orders policies by priority, then by name', () => {
    const set = compilePolicies([
      policy('z', { priority: 1 }),
      policy('b', {}),
      policy('a', {}),
      policy('c', { priority: 200 }),
    ]);
    assert.deepEqual(
      set.imports.map(({ name }) => name),
      ['z', 'a', 'b', 'c'],
    );
  });
});
