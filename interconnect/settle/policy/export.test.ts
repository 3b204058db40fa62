import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { RoutePolicySpec } from '../../../lib/api/kinds/route-policy.ts';
import { cidrContains, parseCidr } from '../../../lib/net/cidr.ts';
import { compilePolicies } from '../../../lib/route-policy/compile.ts';
import { exportPrefixes, type OwnPrefix } from './export.ts';
import { tally, type RoutePolicy } from '../../../lib/route-policy/policy.ts';
import { randomOf } from '../../../lib/testing-random.ts';
import { policy, type ShortSpec } from './testing.ts';

const own = (cidr: string, fields: Partial<OwnPrefix> = {}): OwnPrefix => ({
  cidr,
  origin: 'connected',
  tags: [],
  via: [],
  ...fields,
});
const exporting = (spec: ShortSpec, prefixes: readonly OwnPrefix[]) =>
  exportPrefixes(compilePolicies([policy('p', { direction: 'Export', ...spec })]), {
    vpc: 'v',
    transitSwitch: 'ts',
    prefixes,
  });
const message = (cidr: string, fields: object = {}) => ({
  cidr,
  origin: 'connected',
  tags: [],
  via: [],
  only: [],
  except: [],
  ...fields,
});

describe('exporting', () => {
  it('offers every prefix to every cluster without a policy', () => {
    const { prefixes, withheld } = exporting({}, [own('10.16.0.0/16', { tags: ['a'], via: ['north'] })]);
    assert.deepEqual(prefixes, [message('10.16.0.0/16', { tags: ['a'], via: ['north'] })]);
    assert.equal(withheld.size, 0);
  });

  it('lists prefixes that no cluster is offered, with the policy that decided', () => {
    const { prefixes, withheld, decisions } = exporting({ rules: [{ action: 'Deny' }] }, [own('10.16.0.0/16')]);
    assert.deepEqual(prefixes, []);
    assert.deepEqual(
      [...withheld],
      [
        [
          '10.16.0.0/16',
          {
            code: 'Denied',
            message: '10.16.0.0/16 is offered to no cluster on ts: denied by rules[0] of RoutePolicy p',
          },
        ],
      ],
    );
    assert.deepEqual(decisions, [{ policy: 'p', rule: 0 }]);
  });

  it('leaves out the clusters of a denying rule', () => {
    const { prefixes } = exporting({ rules: [{ match: { clusters: ['west', 'north'] }, action: 'Deny' }] }, [
      own('10.16.0.0/16'),
    ]);
    assert.deepEqual(prefixes, [message('10.16.0.0/16', { except: ['north', 'west'] })]);
  });

  it('offers a prefix only to the clusters of an allowing rule if the rest is denied', () => {
    const { prefixes, decisions } = exporting(
      { rules: [{ match: { clusters: ['west'] } }, { match: { clusters: ['west', 'north'] } }], defaultAction: 'Deny' },
      [own('10.16.0.0/16')],
    );
    assert.deepEqual(prefixes, [message('10.16.0.0/16', { only: ['north', 'west'] })]);
    assert.deepEqual(
      tally(decisions).get('p'),
      new Map([
        [0, 1],
        [1, 1],
      ]),
    );
  });

  it('a rule whose clusters are all decided already decides nothing', () => {
    const { decisions } = exporting({ rules: [{ match: { clusters: ['west'] } }, { match: { clusters: ['west'] } }] }, [
      own('10.16.0.0/16'),
    ]);
    assert.deepEqual(decisions, [{ policy: 'p', rule: 0 }]);
  });

  it('a prefix has the tags of all rules that allow it', () => {
    const { prefixes } = exporting(
      { rules: [{ match: { clusters: ['west'] }, setTags: ['w'] }, { setTags: ['all', 'own'] }] },
      [own('10.16.0.0/16', { tags: ['own'] })],
    );
    assert.deepEqual(prefixes, [message('10.16.0.0/16', { tags: ['own', 'w', 'all'] })]);
  });

  it('replaces the prefixes within an aggregate by one entry for the aggregate', () => {
    const { prefixes, withheld } = exporting({ rules: [{ aggregate: '10.16.0.0/12', setTags: ['site'] }] }, [
      own('10.16.0.0/16', { tags: ['a'], via: ['north'] }),
      own('10.17.0.0/16', { tags: ['b'], via: ['south', 'north'] }),
      own('10.16.0.0/12'),
      own('10.0.0.0/8'),
      own('192.168.0.0/24'),
      own('fd00::/64'),
    ]);
    assert.deepEqual(prefixes, [
      message('10.16.0.0/12', { origin: 'aggregate', tags: ['a', 'site', 'b'], via: ['north', 'south'] }),
      message('10.0.0.0/8', { tags: ['site'] }),
      message('192.168.0.0/24', { tags: ['site'] }),
      message('fd00::/64', { tags: ['site'] }),
    ]);
    assert.equal(withheld.size, 0);
  });

  it('offers an aggregate to the clusters of its rule, and the prefixes themselves to the others', () => {
    const rules = [{ match: { clusters: ['west'] }, aggregate: '10.16.0.0/12' }];
    const { prefixes } = exporting({ rules }, [own('10.16.0.0/16'), own('10.17.0.0/16')]);
    assert.deepEqual(prefixes, [
      message('10.16.0.0/12', { origin: 'aggregate', only: ['west'] }),
      message('10.16.0.0/16', { except: ['west'] }),
      message('10.17.0.0/16', { except: ['west'] }),
    ]);
  });

  it('offers a learned prefix only by a rule that matches its origin or a tag', () => {
    const route = own('192.0.2.0/24', { origin: 'bgp', tags: ['wan'] });
    const offeredAndRefusal = (spec: ShortSpec) => {
      const { prefixes, withheld } = exporting(spec, [own('10.16.0.0/16'), route]);
      return [prefixes.map(({ cidr }) => cidr).join(), withheld.get(route.cidr)?.code].join(' ').trim();
    };
    for (const silent of [{}, { rules: [{}] }, { defaultAction: 'Allow' }] as const)
      assert.equal(offeredAndRefusal(silent), '10.16.0.0/16 NotOffered');
    assert.equal(
      offeredAndRefusal({ rules: [{ match: { prefixes: [{ cidr: '0.0.0.0/0', le: 32 }] } }] }),
      '10.16.0.0/16 NotOffered',
    );
    assert.equal(
      offeredAndRefusal({ rules: [{}, { match: { origins: ['bgp', 'static'] } }] }),
      '10.16.0.0/16,192.0.2.0/24',
    );
    assert.equal(offeredAndRefusal({ rules: [{ match: { tags: ['wan'] } }] }), '10.16.0.0/16,192.0.2.0/24');
    assert.equal(offeredAndRefusal({ rules: [{ match: { tags: ['lan'] } }] }), '10.16.0.0/16 NotOffered');
    assert.equal(
      offeredAndRefusal({ rules: [{ match: { origins: ['bgp'] }, action: 'Deny' }] }),
      '10.16.0.0/16 Denied',
    );
    assert.equal(offeredAndRefusal({ rules: [{ action: 'Deny' }, { match: { origins: ['bgp'] } }] }), 'Denied');
  });

  it('offers a learned prefix only to the clusters of that rule, whatever policies follow', () => {
    const route = own('192.0.2.0/24', { origin: 'bgp' });
    const rules = [{ match: { origins: ['bgp'], clusters: ['west'] } }];
    const { prefixes, withheld } = exportPrefixes(
      compilePolicies([policy('a', { direction: 'Export', rules }), policy('b', { direction: 'Export', rules: [{}] })]),
      { vpc: 'v', transitSwitch: 'ts', prefixes: [route] },
    );
    assert.deepEqual(prefixes, [message('192.0.2.0/24', { origin: 'bgp', only: ['west'] })]);
    assert.equal(withheld.size, 0);
  });

  it('an aggregate that contains a learned prefix is learned, whatever else it contains', () => {
    const rules = [{ match: { origins: ['bgp', 'connected'] }, aggregate: '10.16.0.0/12' }];
    const [learned, subnet] = [own('10.20.0.0/16', { origin: 'bgp' }), own('10.16.0.0/16')];
    for (const both of [
      [learned, subnet],
      [subnet, learned],
    ]) {
      const { prefixes, aggregates } = exporting({ rules }, both);
      assert.deepEqual(prefixes, [message('10.16.0.0/12', { origin: 'bgp' })]);
      assert.deepEqual(aggregates, [parseCidr('10.16.0.0/12')]);
    }
    const itself = own('10.16.0.0/12', { origin: 'bgp' });
    assert.deepEqual(exporting({ rules }, [learned, itself]).aggregates, []);
  });

  it('a prefix that is also an aggregate has one entry', () => {
    const rules = [{ match: { origins: ['connected'] }, aggregate: '10.16.0.0/16' }, {}];
    const { prefixes } = exporting({ rules }, [own('10.16.0.0/16', { origin: 'bgp' }), own('10.16.1.0/24')]);
    assert.deepEqual(prefixes, [message('10.16.0.0/16', { origin: 'aggregate' })]);
  });

  it('matches VPC, origin and tags, and its transit switches only', () => {
    const deny = { action: 'Deny' };
    const offeredCount = (spec: ShortSpec, fields: Partial<OwnPrefix> = {}) =>
      exporting(spec, [own('10.16.0.0/16', fields)]).prefixes.length;
    assert.equal(offeredCount({ rules: [{ match: { vpcs: ['other'] }, ...deny }] }), 1);
    assert.equal(offeredCount({ rules: [{ match: { vpcs: ['v'] }, ...deny }] }), 0);
    assert.equal(offeredCount({ rules: [{ match: { origins: ['bgp'] }, ...deny }] }), 1);
    assert.equal(offeredCount({ rules: [{ match: { origins: ['bgp'] }, ...deny }] }, { origin: 'bgp' }), 0);
    assert.equal(offeredCount({ rules: [{ match: { tags: ['x'] }, ...deny }] }), 1);
    assert.equal(offeredCount({ rules: [{ match: { tags: ['x', 'y'] }, ...deny }] }, { tags: ['y'] }), 0);
    assert.equal(offeredCount({ transitSwitches: ['ts9'], defaultAction: 'Deny' }), 1);
    assert.equal(offeredCount({ transitSwitches: ['ts'], defaultAction: 'Deny' }), 0);
  });

  it('leaves out and reports text that is not a prefix', () => {
    const { prefixes, withheld } = exporting({}, [own('nonsense')]);
    assert.deepEqual(prefixes, []);
    assert.equal(withheld.get('nonsense')?.code, 'PrefixInvalid');
  });
});

type Rule = RoutePolicySpec['rules'][number];

/** The prefixes that one cluster is offered, computed for that cluster alone. */
function naive(policies: readonly RoutePolicy[], prefixes: readonly OwnPrefix[], cluster: string): readonly string[] {
  const asked = policies
    .map(({ name, spec }) => ({ name, spec: spec as RoutePolicySpec }))
    .toSorted((a, b) => a.spec.priority - b.spec.priority || (a.name < b.name ? -1 : 1));
  const offered = prefixes.flatMap((prefix) => {
    const net = parseCidr(prefix.cidr);
    assert.ok(net);
    for (const { spec } of asked) {
      const isSilent = ({ match, action }: Rule): boolean =>
        prefix.origin === 'bgp' && action === 'Allow' && match.origins === undefined;
      const rule = spec.rules.find((each) => takes(each.match, prefix, cluster) && !isSilent(each));
      const { defaultAction } = spec;
      if (rule === undefined && (defaultAction === 'Next' || (prefix.origin === 'bgp' && defaultAction === 'Allow')))
        continue;
      if ((rule?.action ?? spec.defaultAction) === 'Deny') return [];
      const outer = rule?.aggregate === undefined ? undefined : parseCidr(rule.aggregate);
      const isWithin =
        outer !== undefined &&
        outer.prefix <= net.prefix &&
        cidrContains(outer, { family: net.family, value: net.network });
      return [isWithin ? (rule?.aggregate ?? '') : prefix.cidr];
    }
    return prefix.origin === 'bgp' ? [] : [prefix.cidr];
  });
  return [...new Set(offered)].sort();
}

function takes(match: Rule['match'], prefix: OwnPrefix, cluster: string): boolean {
  return (
    (match.clusters?.includes(cluster) ?? true) &&
    (match.origins?.some((one) => one === prefix.origin) ?? true) &&
    (match.prefixes?.some(({ cidr }) => cidr === prefix.cidr) ?? true)
  );
}

describe('exporting, at random', () => {
  const random = randomOf(7);
  const clusters = ['west', 'north', 'south', 'far'];
  const nets = ['10.16.0.0/16', '10.17.0.0/16', '10.16.0.0/12', '10.32.0.0/16', 'fd00::/64'];
  const subset = <T>(list: readonly T[]): readonly T[] => {
    const some = list.filter(() => random(2) === 0);
    return some.length === 0 ? list.slice(0, 1) : some;
  };
  const randomRule = () => {
    const isAllowed = random(2) === 0;
    return {
      match: {
        ...(random(2) === 0 ? { clusters: subset(clusters.slice(0, 3)) } : {}),
        ...(random(3) === 0 ? { origins: subset(['connected', 'bgp']) } : {}),
        ...(random(3) === 0 ? { prefixes: subset(nets.slice(0, 3)).map((cidr) => ({ cidr })) } : {}),
      },
      action: isAllowed ? 'Allow' : 'Deny',
      ...(isAllowed && random(3) === 0 ? { aggregate: '10.16.0.0/12' } : {}),
    };
  };

  it('offers each cluster the same prefixes as an export for that cluster alone', () => {
    let total = 0;
    let aggregates = 0;
    for (let round = 0; round < 1500; round += 1) {
      const policies = Array.from({ length: random(4) }, (_, index) =>
        policy(`p${index}`, {
          direction: 'Export',
          priority: random(2),
          rules: Array.from({ length: random(5) }, randomRule),
          defaultAction: (['Next', 'Next', 'Allow', 'Deny'] as const)[random(4)] ?? 'Next',
        }),
      );
      const prefixes = subset(nets).map((cidr) => own(cidr, { origin: random(2) === 0 ? 'connected' : 'bgp' }));
      const answer = exportPrefixes(compilePolicies(policies), { vpc: 'v', transitSwitch: 'ts', prefixes });
      assert.equal(new Set(answer.prefixes.map(({ cidr }) => cidr)).size, answer.prefixes.length);
      for (const { only, except } of answer.prefixes) assert.ok(only.length === 0 || except.length === 0);
      for (const cluster of clusters) {
        const heard = answer.prefixes
          .filter(({ only, except }) => (only.length === 0 || only.includes(cluster)) && !except.includes(cluster))
          .map(({ cidr }) => cidr);
        assert.deepEqual(heard.sort(), naive(policies, prefixes, cluster), JSON.stringify({ policies, prefixes }));
        total += heard.length;
      }
      aggregates += answer.prefixes.filter(({ origin }) => origin === 'aggregate').length;
      for (const cidr of answer.withheld.keys())
        for (const cluster of clusters)
          assert.deepEqual(
            naive(
              policies,
              prefixes.filter((one) => one.cidr === cidr),
              cluster,
            ),
            [],
          );
    }
    assert.ok(total > 1000 && aggregates > 100);
  });
});
