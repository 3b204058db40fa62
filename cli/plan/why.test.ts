import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseCidr } from '../../lib/net/cidr.ts';
import { policyOf, spoil, subnetOf, wellPair, type Pair } from '../testing-snapshots.ts';
import { decisionOf } from './policy.ts';
import { listRoutes } from './routes.ts';
import { explainRoute, parseTarget, type Why } from './why.ts';

function why(text: string, change: (pair: Pair) => void = () => undefined, isAlone = true): Why {
  const pair = wellPair();
  change(pair);
  const target = parseTarget(text);
  assert.ok(target);
  return explainRoute(pair.east, target, isAlone ? undefined : pair.west);
}

function offer(pair: ReturnType<typeof wellPair>, prefix: string, more: object = {}): void {
  const status = pair.east.remotes[0]?.status;
  assert.ok(status?.routes);
  status.routes.push({ prefix, transitSwitch: 'ts', nextHop: '100.100.0.2', state: 'Active', ...more });
}

describe('why an address is reached', () => {
  it('by the longest prefix in use; all its next hops share the traffic', () => {
    const found = why('10.17.3.4', (pair) => {
      offer(pair, '10.17.3.0/24');
      offer(pair, '10.17.3.0/24', { nextHop: '100.100.32.2' });
    });
    assert.equal(found.answer, 'Reached');
    assert.equal(
      found.sentence,
      '10.17.3.4 has a route to cluster west by 10.17.3.0/24, next hop 100.100.0.2 on ts, 100.100.32.2 on ts',
    );
    assert.deepEqual(
      found.candidates.map(({ route, isUsed, why: reason }) => [route.prefix, isUsed, reason]),
      [
        ['10.17.0.0/16', false, 'a longer prefix wins: 10.17.3.0/24'],
        ['10.17.3.0/24', true, 'longest match, one of 2 that share the traffic'],
        ['10.17.3.0/24', true, 'longest match, one of 2 that share the traffic'],
      ],
    );
    assert.equal(found.paths.length, 2);
  });

  it('not through a longer prefix that is refused', () => {
    const found = why('10.17.3.4', (pair) =>
      offer(pair, '10.17.3.0/24', {
        state: 'Rejected',
        reason: 'Overlap',
        message: 'overlaps 10.17.3.0/25 (web) of this cluster',
      }),
    );
    assert.equal(found.answer, 'Reached');
    assert.match(found.sentence, /by 10\.17\.0\.0\/16/);
    assert.equal(found.candidates[1]?.why, 'overlaps 10.17.3.0/25 (web) of this cluster');
  });

  it('not where a subnet here has it, as long or longer', () => {
    const found = why('10.17.3.4', ({ east }) => east.subnets.push(subnetOf('web', '10.17.3.0/24')));
    assert.equal(found.answer, 'Local');
    assert.equal(found.sentence, '10.17.3.4 is in subnet web (10.17.3.0/24) of this cluster');
    assert.equal(found.candidates[0]?.why, 'subnet web of this cluster (10.17.3.0/24) comes first');
    assert.equal(why('10.17.9.9', ({ east }) => east.subnets.push(subnetOf('web', '10.17.3.0/24'))).answer, 'Reached');
  });

  it('a subnet of a VPC that is not joined prevents nothing', () => {
    const found = why('10.17.3.4', ({ east }) =>
      east.subnets.push(subnetOf('tenant', '10.17.3.0/24', { vpc: 'blue' })),
    );
    assert.equal(found.answer, 'Reached');
  });

  describe('in a private subnet', () => {
    const secret = (allowed: readonly string[]) => ({ allowed: allowed.flatMap((text) => parseCidr(text) ?? []) });
    const there = (allowed: readonly string[], isAlone = false) =>
      why('10.17.3.4', ({ west }) => west.subnets.push(subnetOf('secret', '10.17.3.0/24', secret(allowed))), isAlone);
    it('has a route there and is refused where a private Subnet admits nothing of this cluster', () => {
      const found = there(['192.0.2.0/24']);
      assert.equal(found.answer, 'Refused');
      assert.match(
        found.sentence,
        /has a route to cluster west by 10\.17\..*; but a private Subnet there refuses east/,
      );
      assert.match(found.access.join(), /subnet secret of west is private and admits 192\.0\.2\.0\/24/);
      assert.match(found.next.join(), /add .* to spec\.allowSubnets of Subnet secret in west .*10\.16\.0\.0\/16/);
      assert.equal(there([]).answer, 'Refused');
    });
    it('names the Subnets of this cluster that are admitted, and what a route does not show', () => {
      const found = there(['10.16.5.0/24']);
      assert.equal(found.answer, 'Reached');
      assert.match(found.access.join(), /admits 10\.16\.5\.0\/24: of east that is 10\.16\.0\.0\/16/);
      assert.match(
        there([], true).access.join(),
        /a route does not show whether Subnets there are private.*--peer-kubeconfig/,
      );
      assert.deepEqual(why('10.17.9.9', () => undefined, false).access, []);
    });
    it('of this cluster: the clusters that reach it, and the prefixes that its pods do not reach', () => {
      const own = (text: string) =>
        why(text, ({ east }) => east.subnets.push(subnetOf('secret', '10.16.3.0/24', secret(['10.16.5.0/24']))), false);
      assert.match(own('10.16.3.4').access.join(), /secret is private: .* and from 10\.16\.5\.0\/24, and from nowhere/);
      assert.match(own('10.17.9.9').access.join(), /secret of east is private.*pods there cannot reach it/);
    });
  });

  it('of this cluster: which others are offered it, which policy withholds it, and what else keeps it here', () => {
    const offered = (text: string, change: Parameters<typeof why>[1] = () => undefined) =>
      why(text, change).offeredTo.map(({ prefix, cluster, answer, why: reason }) => [prefix, cluster, answer, reason]);
    assert.deepEqual(offered('10.16.0.0/16'), [['10.16.0.0/16', 'west', 'Offered', 'no Export policy denies it']]);
    const hide = { direction: 'Export', rules: [{ match: { clusters: ['west'] }, action: 'Deny' }] };
    assert.deepEqual(
      offered('10.16.3.4', ({ east }) => {
        east.policies = [policyOf('hide', hide)];
      }),
      [['10.16.0.0/16', 'west', 'Denied', 'RoutePolicy hide denies it']],
    );
    assert.match(
      offered('10.18.0.1', ({ east }) =>
        east.subnets.push(subnetOf('own', '10.18.0.0/24', { isDisabled: true })),
      ).join(),
      /NotOffered,subnet own of east is not shared/,
    );
    assert.match(
      offered('10.18.0.1', ({ east }) => east.subnets.push(subnetOf('tenant', '10.18.0.0/24', { vpc: 'blue' }))).join(),
      /NotOffered,.* attached to no transit switch/,
    );
    const refused = ({ east }: Pair): void =>
      spoil(east, 'NoConflicts', 'PrefixNotAllowed', 'the hub allows east 10.0.0.0/24 only, not 10.16.0.0/16');
    assert.match(offered('10.16.3.4', refused).join(), /west,NotOffered,the hub allows east/);
  });

  it('an offered but refused prefix has the reason and the remedy', () => {
    const found = why('10.17.0.0/16', ({ east }) => {
      const [route] = east.remotes[0]?.status.routes ?? [];
      Object.assign(route ?? {}, { state: 'Rejected', reason: 'Denied', message: 'denied by RoutePolicy no-west' });
      east.policies = [policyOf('no-west', { rules: [{ match: { clusters: ['west'] }, action: 'Deny' }] })];
    });
    assert.equal(found.answer, 'NotReached');
    assert.match(found.sentence, /10\.17\.0\.0\/16 of west: Denied/);
    assert.deepEqual(found.candidates[0]?.policy, { policy: 'no-west', rule: 0, action: 'Deny' });
    assert.deepEqual(found.next, ['change the RoutePolicy in the message']);
  });

  it('not offered: what it would need, and with the other side the very obstacle', () => {
    assert.equal(why('10.18.0.1').answer, 'NotOffered');
    assert.match(why('10.18.0.1').next.join('\n'), /one of west.*disableInterConnection/s);
    const found = why(
      '10.18.0.1',
      ({ west }) => west.subnets.push(subnetOf('private', '10.18.0.0/24', { isDisabled: true })),
      false,
    );
    assert.match(found.next.join('\n'), /subnet private of west is not shared: disableInterConnection is true/);
    assert.equal(found.next.length, 1);
  });

  describe('by what routers lead to', () => {
    const learn = (snapshot: ReturnType<typeof wellPair>['east'], text: string, tags: string[] = []) => {
      const cidr = parseCidr(text);
      assert.ok(cidr);
      snapshot.learned.push({ node: 'n1', vpc: 'ovn-cluster', cidr, peer: 'tor', tags });
    };
    const exporting = (spec: object) => policyOf('wan', { direction: 'Export', ...spec });

    it('own routers come before those of other clusters, not before a cluster’s own prefix, and the longest wins', () => {
      const found = why('192.0.2.7', (pair) => {
        learn(pair.east, '192.0.2.0/24');
        offer(pair, '192.0.2.0/24', { state: 'Backup', origin: 'bgp', reason: 'NotPreferred', message: 'own first' });
        offer(pair, '192.0.0.0/16', { origin: 'bgp' });
      });
      assert.equal(found.answer, 'Edge');
      assert.equal(found.sentence, '192.0.2.7 leaves by routers of this cluster: 192.0.2.0/24, learned by n1 from tor');
      assert.deepEqual(
        found.candidates.map((one) => one.why),
        ['routers of this cluster lead there by 192.0.2.0/24', 'own first'],
      );
      const longer = why('192.0.2.7', (pair) => {
        learn(pair.east, '192.0.0.0/16');
        offer(pair, '192.0.2.0/24', { origin: 'bgp' });
      });
      assert.equal(longer.answer, 'Reached');
      assert.equal(why('10.17.3.4', ({ east }) => learn(east, '10.17.3.0/24')).answer, 'Reached');
    });

    it('names the clusters that are offered them, and why others are not', () => {
      const offered = (policies: ReturnType<typeof policyOf>[], text = '192.0.2.0/24', tags: string[] = []) =>
        why(text, ({ east }) => {
          learn(east, text, tags);
          east.policies = policies;
        }).offeredTo.map(({ cluster, answer, policy }) => [cluster, answer, policy?.rule].join(' ').trim());
      assert.deepEqual(offered([]), ['west NotOffered']);
      assert.deepEqual(offered([exporting({ rules: [{}], defaultAction: 'Allow' })]), ['west NotOffered']);
      assert.deepEqual(offered([exporting({ rules: [{}, { match: { origins: ['bgp'] } }] })]), ['west Offered 1']);
      assert.deepEqual(offered([exporting({ rules: [{ match: { tags: ['a'] } }] })], '192.0.2.0/24', ['a']), [
        'west Offered 0',
      ]);
      assert.deepEqual(offered([exporting({ defaultAction: 'Deny' })]), ['west Denied']);
      assert.deepEqual(offered([exporting({ rules: [{ match: { origins: ['bgp'] } }] })], '10.17.9.0/24'), [
        'west Loop',
      ]);
      assert.deepEqual(offered([exporting({ rules: [{ match: { origins: ['bgp'] } }] })], '0.0.0.0/0'), [
        'west PrefixInvalid',
      ]);
    });

    it('names what keeps another cluster from offering its learned prefixes', () => {
      const found = why('192.0.2.7', ({ west }) => learn(west, '192.0.2.0/24'), false);
      assert.equal(found.answer, 'NotOffered');
      assert.deepEqual(found.next, [
        'routers of west lead to 192.0.2.0/24, learned by n1, and east is not offered it: no Export rule that names origin bgp or a tag of it allows it (NotOffered)',
      ]);
    });
  });

  it('part of a prefix does not answer for the whole', () => {
    assert.equal(why('10.16.0.0/12').answer, 'NotReached');
    assert.match(why('10.16.0.0/12').sentence, /parts of it are/);
  });

  it('reads addresses of both families, and nothing else', () => {
    assert.equal(parseTarget('fd00::1')?.prefix, 128);
    assert.equal(parseTarget('10.0.0.0/8')?.prefix, 8);
    for (const text of ['', 'web', '10.0.0.0/33', '10.0.0']) assert.equal(parseTarget(text), undefined, text);
  });
});

describe('which policy decides', () => {
  const subject = (text: string, more: object = {}) => {
    const cidr = parseCidr(text);
    assert.ok(cidr);
    return {
      cidr,
      cluster: 'west',
      transitSwitch: 'ts',
      vpc: 'ovn-cluster',
      origin: 'connected',
      tags: ['gold'],
      ...more,
    };
  };

  it('by priority, then by name; the first rule that matches', () => {
    const policies = [
      policyOf('b', { priority: 10, defaultAction: 'Deny' }),
      policyOf('a', {
        priority: 10,
        rules: [{ match: { tags: ['silver'] } }, { match: { tags: ['gold', 'x'] }, action: 'Allow' }],
      }),
      policyOf('first', { priority: 1, transitSwitches: ['other'], defaultAction: 'Deny' }),
    ];
    assert.deepEqual(decisionOf(policies, 'Import', subject('10.17.0.0/16')), {
      policy: 'a',
      rule: 1,
      action: 'Allow',
    });
    assert.deepEqual(decisionOf(policies, 'Import', subject('10.17.0.0/16', { tags: [] })), {
      policy: 'b',
      rule: undefined,
      action: 'Deny',
    });
    assert.equal(decisionOf([], 'Import', subject('10.17.0.0/16')), undefined);
  });

  it('by the last valid spec where the present one is refused', () => {
    const refused = { rules: [{ match: { prefixes: [{ cidr: '10.17.0.1/16' }] }, action: 'Deny' }] };
    assert.equal(decisionOf([policyOf('p', refused)], 'Import', subject('10.17.0.0/16')), undefined);
    const inForce = JSON.stringify({ direction: 'Import', defaultAction: 'Deny' });
    assert.deepEqual(decisionOf([policyOf('p', refused, { inForce })], 'Import', subject('10.17.0.0/16')), {
      policy: 'p',
      rule: undefined,
      action: 'Deny',
    });
  });

  for (const [range, prefix, isIn] of [
    [{ cidr: '10.0.0.0/8' }, '10.0.0.0/8', true],
    [{ cidr: '10.0.0.0/8' }, '10.17.0.0/16', false],
    [{ cidr: '10.0.0.0/8', ge: 16 }, '10.17.0.0/24', true],
    [{ cidr: '10.0.0.0/8', ge: 16 }, '10.0.0.0/9', false],
    [{ cidr: '10.0.0.0/8', le: 16 }, '10.17.0.0/16', true],
    [{ cidr: '10.0.0.0/8', le: 16 }, '10.17.0.0/17', false],
    [{ cidr: '10.0.0.0/8', le: 16 }, '11.0.0.0/16', false],
    [{ cidr: 'fd00::/8', ge: 64 }, 'fd01::/64', true],
  ] as const)
    it(`${prefix} ${isIn ? 'is' : 'is not'} in ${JSON.stringify(range)}`, () => {
      const policies = [policyOf('p', { rules: [{ match: { prefixes: [range] }, action: 'Deny' }] })];
      assert.equal(decisionOf(policies, 'Import', subject(prefix)) !== undefined, isIn);
    });
});

describe('the list of routes', () => {
  it('is in the order of addresses, and reports what the objects leave out', () => {
    const { east } = wellPair();
    const status = east.remotes[0]?.status;
    assert.ok(status?.routes);
    for (const prefix of ['fd00::/64', '10.2.0.0/16', '10.10.0.0/16', '10.2.0.0/24'])
      status.routes.push({ prefix, transitSwitch: 'ts', nextHop: '100.100.0.2', state: 'Active' });
    status.routes.push({ prefix: '10.17.0.0/16', transitSwitch: 'ts', nextHop: '100.100.32.2', state: 'Active' });
    status.routesActive = 7;
    const { routes, unlisted } = listRoutes(east, undefined);
    assert.deepEqual(
      routes.map(({ prefix }) => prefix),
      ['10.2.0.0/16', '10.2.0.0/24', '10.10.0.0/16', '10.17.0.0/16', '10.17.0.0/16', 'fd00::/64'],
    );
    assert.equal(unlisted, 2);
    assert.deepEqual(listRoutes(east, 'north'), { routes: [], unlisted: 0 });
  });
});
