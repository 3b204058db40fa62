import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { RoutePolicySpec } from '../../../lib/api/kinds/route-policy.ts';
import { cidrContains, formatCidr, parseCidr } from '../../../lib/net/cidr.ts';
import { bitsOf, type Family } from '../../../lib/net/ip.ts';
import { compilePolicies } from '../../../lib/route-policy/compile.ts';
import { importVerdict, type OfferedPrefix } from './import.ts';
import { tally, type Decision, type RoutePolicy } from '../../../lib/route-policy/policy.ts';
import { randomOf } from '../../../lib/testing-random.ts';
import { policy } from './testing.ts';

const offered = (fields: Partial<OfferedPrefix> = {}): OfferedPrefix => ({
  cluster: 'west',
  vpc: 'ovn-cluster',
  transitSwitch: 'ts',
  cidr: '10.17.0.0/16',
  origin: 'connected',
  tags: [],
  ...fields,
});

describe('importing', () => {
  it('allows prefixes that no policy matches, as they were offered', () => {
    const expected = { allowed: true, preference: 100, tags: ['a'], decidedBy: undefined };
    assert.deepEqual(importVerdict(compilePolicies([]), offered({ tags: ['a'] })), expected);
    const otherDirection = compilePolicies([policy('p', { direction: 'Export', defaultAction: 'Deny' })]);
    assert.deepEqual(importVerdict(otherDirection, offered({ tags: ['a'] })), expected);
  });

  it('names the policy and the rule that deny a prefix', () => {
    const set = compilePolicies([policy('edge', { rules: [{ match: { tags: ['x'] } }, { action: 'Deny' }] })]);
    const verdict = importVerdict(set, offered());
    assert.ok(!verdict.allowed);
    assert.deepEqual(verdict.problem, {
      code: 'Denied',
      message: '10.17.0.0/16 of west on ts is denied by rules[1] of RoutePolicy edge',
    });
    assert.deepEqual(verdict.decidedBy, { policy: 'edge', rule: 1 });
  });

  it('names the default action where that decides', () => {
    const verdict = importVerdict(compilePolicies([policy('closed', { defaultAction: 'Deny' })]), offered());
    assert.ok(!verdict.allowed);
    assert.match(verdict.problem.message, /defaultAction of RoutePolicy closed/);
    assert.deepEqual(verdict.decidedBy, { policy: 'closed', rule: undefined });
  });

  it('adds tags and sets the preference', () => {
    const set = compilePolicies([policy('p', { rules: [{ setTags: ['b', 'a'], setPreference: 200 }] })]);
    const verdict = importVerdict(set, offered({ tags: ['a'] }));
    assert.deepEqual(verdict, {
      allowed: true,
      preference: 200,
      tags: ['a', 'b'],
      decidedBy: { policy: 'p', rule: 0 },
    });
  });

  it('the first policy that decides is the last one asked; Next passes on', () => {
    const next = policy('a', { rules: [{ match: { origins: ['bgp'] }, action: 'Deny' }] });
    const allow = policy('b', { defaultAction: 'Allow' });
    const deny = policy('c', { defaultAction: 'Deny' });
    const set = compilePolicies([deny, allow, next]);
    assert.deepEqual(importVerdict(set, offered()).decidedBy, { policy: 'b', rule: undefined });
    assert.deepEqual(importVerdict(set, offered({ origin: 'bgp' })).decidedBy, { policy: 'a', rule: 0 });
    assert.equal(importVerdict(compilePolicies([next, deny]), offered()).allowed, false);
  });

  it('is asked for its transit switches only', () => {
    const set = compilePolicies([policy('p', { transitSwitches: ['ts9'], defaultAction: 'Deny' })]);
    assert.equal(importVerdict(set, offered()).allowed, true);
    assert.equal(importVerdict(set, offered({ transitSwitch: 'ts9' })).allowed, false);
  });

  it('masks: only the range itself, up to le, from ge', () => {
    const allowed = (range: object, cidr: string): boolean => {
      const set = compilePolicies([policy('p', { rules: [{ match: { prefixes: [range] } }], defaultAction: 'Deny' })]);
      return importVerdict(set, offered({ cidr })).allowed;
    };
    const net = { cidr: '10.0.0.0/8' };
    assert.equal(allowed(net, '10.0.0.0/8'), true);
    assert.equal(allowed(net, '10.0.0.0/9'), false);
    assert.equal(allowed({ ...net, le: 16 }, '10.16.0.0/16'), true);
    assert.equal(allowed({ ...net, le: 16 }, '10.16.0.0/17'), false);
    assert.equal(allowed({ ...net, ge: 16 }, '10.16.0.0/15'), false);
    assert.equal(allowed({ ...net, ge: 16 }, '10.16.1.1/32'), true);
    assert.equal(allowed({ ...net, le: 32 }, '11.0.0.0/16'), false);
    assert.equal(allowed({ cidr: '::/0', ge: 0 }, 'fd00::/64'), true);
    assert.equal(allowed({ cidr: '::/0', ge: 0 }, '10.0.0.0/8'), false);
  });

  it('leaves out and reports text that is not a prefix', () => {
    const verdict = importVerdict(compilePolicies([]), offered({ cidr: '10.0.0.0' }));
    assert.equal(!verdict.allowed && verdict.problem.code, 'PrefixInvalid');
  });

  it('counts what each rule decided', () => {
    const decisions: (Decision | undefined)[] = [
      { policy: 'p', rule: 0 },
      { policy: 'p', rule: 0 },
      { policy: 'p', rule: undefined },
      undefined,
      { policy: 'q', rule: 2 },
    ];
    assert.deepEqual(
      tally(decisions),
      new Map([
        ['p', new Map([[0, 2]])],
        ['q', new Map([[2, 1]])],
      ]),
    );
  });
});

/** The words of the kind's descriptions, one after the other, with no index. */
function naive(policies: readonly RoutePolicy[], prefix: OfferedPrefix): string {
  const asked = policies
    .map(({ name, spec }) => ({ name, spec: spec as RoutePolicySpec }))
    .filter(({ spec }) => spec.direction === 'Import')
    .filter(({ spec }) => spec.transitSwitches?.includes(prefix.transitSwitch) ?? true)
    .toSorted((a, b) => a.spec.priority - b.spec.priority || (a.name < b.name ? -1 : 1));
  for (const { name, spec } of asked) {
    const index = spec.rules.findIndex(({ match }) => naiveMatch(match, prefix));
    const rule = spec.rules[index];
    if (rule !== undefined)
      return `${name} ${index} ${rule.action} ${rule.action === 'Deny' ? '' : (rule.setPreference ?? 100)}`;
    if (spec.defaultAction !== 'Next')
      return `${name} default ${spec.defaultAction} ${spec.defaultAction === 'Deny' ? '' : 100}`;
  }
  return 'nobody Allow 100';
}

function naiveMatch(match: RoutePolicySpec['rules'][number]['match'], prefix: OfferedPrefix): boolean {
  const cidr = parseCidr(prefix.cidr);
  assert.ok(cidr);
  const inRange = match.prefixes?.some((range) => {
    const net = parseCidr(range.cidr);
    assert.ok(net);
    const le = range.le ?? (range.ge === undefined ? net.prefix : bitsOf(net.family));
    const isInside = cidrContains(net, { family: cidr.family, value: cidr.network });
    return isInside && cidr.prefix >= (range.ge ?? net.prefix) && cidr.prefix <= le && cidr.prefix >= net.prefix;
  });
  return (
    (inRange ?? true) &&
    (match.origins?.some((one) => one === prefix.origin) ?? true) &&
    (match.tags?.some((one) => prefix.tags.includes(one)) ?? true) &&
    (match.vpcs?.includes(prefix.vpc) ?? true) &&
    (match.clusters?.includes(prefix.cluster) ?? true)
  );
}

function inWords(policies: ReturnType<typeof compilePolicies>, prefix: OfferedPrefix): string {
  const verdict = importVerdict(policies, prefix);
  const { decidedBy } = verdict;
  const by = decidedBy === undefined ? 'nobody' : `${decidedBy.policy} ${decidedBy.rule ?? 'default'}`;
  return `${by} ${verdict.allowed ? `Allow ${verdict.preference}` : 'Deny '}`;
}

describe('importing, at random', () => {
  const random = randomOf(42);
  const pick = <T>(list: readonly T[]): T => {
    const one = list[random(list.length)];
    assert.ok(one !== undefined);
    return one;
  };
  const maybe = (key: string, value: () => unknown, chance = 3) => (random(chance) === 0 ? { [key]: value() } : {});
  const some = <T>(list: readonly T[]): T[] => [pick(list), pick(list)].slice(random(2));

  /** Few different bits, so that ranges often meet. */
  const randomNet = (): string => {
    const family: Family = random(3) === 0 ? 6 : 4;
    const prefix = random(family === 4 ? 13 : 20);
    const bits = BigInt(bitsOf(family));
    const network = (BigInt(random(4)) << (bits - 4n)) | (BigInt(random(4)) << (bits - 12n));
    const mask = bits - BigInt(prefix);
    return formatCidr({ family, network: (network >> mask) << mask, prefix });
  };
  const randomRange = () => {
    const cidr = randomNet();
    const net = parseCidr(cidr);
    assert.ok(net);
    const ge = net.prefix + random(4);
    return { cidr, ...maybe('ge', () => ge), ...maybe('le', () => ge + random(4)) };
  };
  const randomRule = () => ({
    match: {
      ...maybe('prefixes', () => Array.from({ length: 1 + random(3) }, randomRange), 2),
      ...maybe('origins', () => some(['connected', 'static', 'bgp'])),
      ...maybe('tags', () => some(['a', 'b', 'c'])),
      ...maybe('vpcs', () => some(['v1', 'v2'])),
      ...maybe('clusters', () => some(['west', 'north', 'south'])),
    },
    action: pick(['Allow', 'Deny'] as const),
    ...maybe('setPreference', () => random(1000)),
  });
  const randomPolicy = (index: number): RoutePolicy =>
    policy(`p${index}`, {
      direction: pick(['Import', 'Import', 'Export'] as const),
      priority: random(3),
      ...maybe('transitSwitches', () => some(['ts', 'tt'])),
      rules: Array.from({ length: random(8) }, randomRule),
      defaultAction: pick(['Next', 'Next', 'Allow', 'Deny'] as const),
    });

  it('agrees with the rules read one after the other', () => {
    const seen = new Set<string>();
    for (let round = 0; round < 400; round += 1) {
      const policies = Array.from({ length: random(6) }, (_, index) => randomPolicy(index));
      const set = compilePolicies(policies);
      assert.deepEqual(
        [...set.judged.values()].flatMap(({ problem }) => problem ?? []),
        [],
      );
      for (let count = 0; count < 40; count += 1) {
        const prefix = offered({
          cluster: pick(['west', 'north', 'south', 'far']),
          vpc: pick(['v1', 'v2', 'v3']),
          transitSwitch: pick(['ts', 'tt', 'tu']),
          cidr: randomNet(),
          origin: pick(['connected', 'static', 'bgp', 'aggregate']),
          tags: some(['a', 'b', 'd']),
        });
        const expected = naive(policies, prefix);
        seen.add(expected.replaceAll(/\d+/g, 'n'));
        assert.equal(inWords(set, prefix), expected, JSON.stringify({ policies, prefix }));
      }
    }
    // Every way to be decided was met.
    assert.deepEqual([...seen].sort(), [
      'nobody Allow n',
      'pn default Allow n',
      'pn default Deny ',
      'pn n Allow n',
      'pn n Deny ',
    ]);
  });
});
