import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { planKey } from '../plan.ts';
import { basic, columns, created, subnet, falseConditions, vpc } from '../../testing-vpcs.ts';

describe('static routes', () => {
  const rows = (staticRoutes: readonly object[]): readonly object[] => {
    const cluster = basic();
    vpc(cluster, 'blue', { staticRoutes });
    cluster.settle();
    return columns(cluster, 'static-route/blue');
  };

  test('are normalised, and one whose text differs is still the same', () => {
    const [first, ...rest] = rows([
      { cidr: '10.0.0.5/24', nextHopIP: '10.1.0.1' },
      { cidr: '10.0.0.0/24', nextHopIP: '10.1.0.1', policy: 'policyDst' },
      { cidr: '10.0.0.5', nextHopIP: '10.1.0.1', policy: 'policySrc', routeTable: 't' },
      { cidr: 'fd00:0::5', nextHopIP: 'fd00:1::1', ecmpMode: 'ecmp_symmetric_reply' },
    ]);
    const common = { options: {}, external_ids: { vendor: 'kube-ovn' } };
    assert.deepEqual(first, {
      ...common,
      ip_prefix: '10.0.0.0/24',
      nexthop: '10.1.0.1',
      policy: 'dst-ip',
      route_table: '',
    });
    assert.deepEqual(rest, [
      { ...common, ip_prefix: '10.0.0.5/32', nexthop: '10.1.0.1', policy: 'src-ip', route_table: 't' },
      {
        ...common,
        ip_prefix: 'fd00::5/128',
        nexthop: 'fd00:1::1',
        policy: 'dst-ip',
        route_table: '',
        options: { ecmp_symmetric_reply: 'true' },
      },
    ]);
  });

  test('their order changes nothing', () => {
    const list = ['10.1.0.1', '10.1.0.2', '10.1.0.3'].map((nextHopIP) => ({ cidr: '0.0.0.0/0', nextHopIP }));
    const cluster = basic();
    const keys = (staticRoutes: readonly object[]): readonly string[] => {
      vpc(cluster, 'blue', { staticRoutes });
      cluster.settle();
      return planKey(cluster, 'static-route/blue')
        .rows.map(({ key }) => key)
        .sort();
    };
    assert.equal(keys(list).length, 3, 'each next hop is a row, and they share the load');
    assert.deepEqual(keys(list.toReversed()), keys(list));
  });

  test('an invalid route is named, and the others are served', () => {
    const cluster = basic();
    const good = { cidr: '10.9.0.0/16', nextHopIP: '10.1.0.9' };
    const bad: readonly (readonly [object, RegExp])[] = [
      [{ cidr: '10.0.0.0/33', nextHopIP: '10.1.0.1' }, /\[1\]\.cidr: '10\.0\.0\.0\/33'/],
      [{ cidr: '10.0.0.0/8', nextHopIP: 'fd00::1' }, /\[1\]\.nextHopIP: fd00::1 is not of the family/],
      [{ cidr: '10.0.0.0/8', nextHopIP: '' }, /\[1\]\.nextHopIP: '' is not an IP address/],
      [{ cidr: 'fd00::/8', nextHopIP: 'fe80::1' }, /fe80::1 may be on any port/],
      [{ cidr: '10.0.0.0/8', nextHopIP: '10.1.0.1', policy: 'src' }, /\[1\]\.policy/],
      [{ cidr: '10.0.0.0/8', nextHopIP: '10.1.0.1', ecmpMode: 'x' }, /\[1\]\.ecmpMode/],
      [{ cidr: '10.0.0.0/8', nextHopIP: '10.1.0.1', bfdId: 'x' }, /NotSupported: spec\.staticRoutes\[1\]\.bfdId/],
      [{ ...good, ecmpMode: 'ecmp_symmetric_reply' }, /\[1\] is the same route as spec\.staticRoutes\[0\]/],
    ];
    subnet(cluster, 'sea', { cidrBlock: '10.1.0.0/24', vpc: 'blue' });
    for (const [item, pattern] of bad) {
      vpc(cluster, 'blue', { staticRoutes: [good, item] });
      cluster.settle();
      assert.equal(columns(cluster, 'static-route/blue').length, 1);
      assert.match(falseConditions(cluster, 'blue')['Validated'] ?? '', pattern);
    }
    vpc(cluster, 'blue', { staticRoutes: [good, good] });
    cluster.settle();
    assert.deepEqual(falseConditions(cluster, 'blue'), {});
  });

  test('a route whose next hop is in no network is planned, and reported until the network exists', () => {
    const cluster = basic();
    vpc(cluster, 'blue', { staticRoutes: [{ cidr: '10.0.0.0/8', nextHopIP: '10.1.0.1' }] });
    cluster.settle();
    assert.equal(columns(cluster, 'static-route/blue').length, 1);
    assert.match(falseConditions(cluster, 'blue')['Ready'] ?? '', /^NextHopUnreachable: spec\.staticRoutes\[0\]/);
    subnet(cluster, 'sea', { cidrBlock: '10.1.0.0/24', vpc: 'blue' });
    assert.ok(cluster.settle().has('vpc/blue'));
    assert.deepEqual(falseConditions(cluster, 'blue'), {});
  });

  test('a default route of the user replaces the built-in one once its next hop is reachable', () => {
    const cluster = basic();
    const prefixes = (): readonly unknown[] =>
      planKey(cluster, 'vpc/ovn-cluster').rows.flatMap(({ columns: row }) =>
        row['ip_prefix'] === undefined ? [] : [`${String(row['ip_prefix'])} ${String(row['route_table'])}`],
      );
    const staticRoutes = [{ cidr: '0.0.0.0/0', nextHopIP: '10.20.0.254' }];
    vpc(cluster, 'ovn-cluster', { staticRoutes }, created(1));
    cluster.settle();
    assert.deepEqual(prefixes(), ['0.0.0.0/0 ']);
    subnet(cluster, 'out', { cidrBlock: '10.20.0.0/24' });
    assert.ok(cluster.settle().has('vpc/ovn-cluster'));
    assert.deepEqual(prefixes(), []);
    subnet(cluster, 'out', { cidrBlock: '10.20.0.0/24', routeTable: 'out' });
    cluster.settle();
    assert.deepEqual(prefixes(), ['0.0.0.0/0 out'], 'packets of another table do not see the main one');
    assert.deepEqual(planKey(cluster, 'route-table/out').contributions, [
      { table: 'Logical_Router_Port', key: 'ovn-cluster-out', column: 'options', entries: { route_table: 'out' } },
    ]);
  });
});

describe('policy routes', () => {
  const reroute = (match: string, nextHopIP: string): object => ({ priority: 10, match, action: 'reroute', nextHopIP });

  test('rows, and what is refused', () => {
    const cluster = basic();
    subnet(cluster, 'sea', { cidrBlock: '10.1.0.0/24,fd00:1::/64', vpc: 'blue' });
    const bad: readonly (readonly [object, RegExp])[] = [
      [{ priority: 32768, match: '1', action: 'drop' }, /\[0\]\.priority: 32768/],
      [{ priority: 1.5, match: '1', action: 'drop' }, /\[0\]\.priority/],
      [{ priority: 1, match: 'ip4.src = 1', action: 'drop' }, /\[0\]\.match: /],
      [{ priority: 1, match: '', action: 'drop' }, /\[0\]\.match: /],
      [{ priority: 1, match: '1', action: 'jump' }, /\[0\]\.action: 'jump'/],
      [reroute('ip4', ''), /\[0\]\.nextHopIP: action reroute needs/],
      [reroute('ip4', '10.1.0.2,x'), /\[0\]\.nextHopIP: 'x'/],
      [reroute('1', '10.1.0.2,fd00:1::2'), /\[0\]\.nextHopIP: fd00:1::2 is not of the family/],
      [reroute('ip4.src == 10.0.0.0/8', 'fd00:1::2'), /\[0\]\.nextHopIP: fd00:1::2 is not of the family/],
    ];
    for (const [item, pattern] of bad) {
      vpc(cluster, 'blue', {
        policyRoutes: [item, { priority: 2, match: 'ip6', action: 'allow', nextHopIP: 'ignored' }],
      });
      cluster.settle();
      const [row, second] = columns(cluster, 'policy-route/blue');
      assert.deepEqual(row, {
        priority: 2,
        match: 'ip6',
        action: 'allow',
        nexthops: [],
        external_ids: { vendor: 'kube-ovn' },
      });
      assert.equal(second, undefined);
      assert.match(falseConditions(cluster, 'blue')['Validated'] ?? '', pattern);
    }
    for (const match of ['!(ip4.src == 10.0.0.0/8)', 'ip6.src == $nets.ip4', 'inport == "ip4"']) {
      vpc(cluster, 'blue', { policyRoutes: [reroute(match, 'fd00:1::3, fd00:1::2')] });
      cluster.settle();
      assert.deepEqual(falseConditions(cluster, 'blue'), {}, match);
      assert.deepEqual((columns(cluster, 'policy-route/blue')[0] as { nexthops: unknown }).nexthops, [
        'fd00:1::2',
        'fd00:1::3',
      ]);
    }
  });

  test('of two with the same match and different actions the first stays', () => {
    const cluster = basic();
    const [drop, allow] = ['drop', 'allow'].map((action) => ({ priority: 10, match: 'ip4', action }));
    vpc(cluster, 'blue', { policyRoutes: [drop, drop, allow] });
    cluster.settle();
    const rows = columns(cluster, 'policy-route/blue') as readonly { action: string }[];
    assert.deepEqual(
      rows.map(({ action }) => action),
      ['drop'],
    );
    assert.match(
      falseConditions(cluster, 'blue')['Validated'] ?? '',
      /^PolicyRouteInvalid: spec\.policyRoutes\[2\] has the same priority/,
    );
  });
});
