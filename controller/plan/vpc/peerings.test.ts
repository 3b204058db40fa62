import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { TestCluster } from '../../testing-cluster.ts';
import { parseTransitSwitch, parseVpc } from '../../watch/networks.ts';
import { planKey } from '../plan.ts';
import { basic, columns, created, meta, peers, subnet, falseConditions, vpc } from '../../testing-vpcs.ts';

describe('peerings', () => {
  const peer = (remoteVpc: string, localConnectIP: string): object => ({
    vpcPeerings: [{ remoteVpc, localConnectIP }],
  });

  test('a peering on which both sides agree has a port on each', () => {
    const cluster = basic();
    vpc(cluster, 'blue', peer('red', '169.254.0.1/30,fd00:9::1/126'));
    cluster.settle();
    assert.match(
      falseConditions(cluster, 'blue')['Ready'] ?? '',
      /^PeerNotFound: spec\.vpcPeerings\[0\]: Vpc red does not exist/,
    );
    vpc(cluster, 'red', {});
    cluster.settle();
    assert.match(falseConditions(cluster, 'blue')['Ready'] ?? '', /^PeeringOneSided: .*Vpc red does not list blue/);
    assert.equal(falseConditions(cluster, 'blue')['Validated'], undefined);
    assert.deepEqual(columns(cluster, 'peering/blue/red'), []);
    vpc(cluster, 'red', peer('blue', 'fd00:9::2/126, 169.254.0.2/30'));
    cluster.settle();
    const [row] = planKey(cluster, 'peering/blue/red').rows;
    assert.deepEqual(
      [row?.key, row?.columns['peer'], row?.columns['networks']],
      ['blue-red', 'red-blue', ['169.254.0.1/30', 'fd00:9::1/126']],
    );
    assert.deepEqual([peers(cluster, 'blue'), peers(cluster, 'red')], [['red'], ['blue']]);
    assert.deepEqual([falseConditions(cluster, 'blue'), falseConditions(cluster, 'red')], [{}, {}]);
    vpc(cluster, 'red', undefined);
    cluster.settle();
    assert.deepEqual(columns(cluster, 'peering/blue/red'), []);
  });

  test('an invalid peering is reported on both sides, and no side has a port', () => {
    const cases: readonly (readonly [string, string, RegExp])[] = [
      ['169.254.0.1/30', '169.254.0.5/30', /are not in the same network/],
      ['169.254.0.1/30', '169.254.0.1/30', /both sides have the address 169\.254\.0\.1/],
      ['169.254.0.1/30', '169.254.0.0/30', /169\.254\.0\.0\/30 is not a host address/],
      ['169.254.0.1/30', '169.254.0.2/32', /leaves no address for the other side/],
      ['169.254.0.1/30', '169.254.0.2', /'169\.254\.0\.2' is not an address with a prefix length/],
      ['169.254.0.1/30', '169.254.0.2/30,fd00::1/64', /are not in the same network/],
      ['10.1.0.1/30', '10.1.0.2/30', /CIDROverlap: .* overlaps 10\.1\.0\.0\/24 of subnet sea/],
      ['127.0.0.1/30', '127.0.0.2/30', /overlaps 127\.0\.0\.0\/8, which is reserved/],
    ];
    for (const [blue, red, pattern] of cases) {
      const cluster = basic();
      vpc(cluster, 'blue', peer('red', blue));
      vpc(cluster, 'red', peer('blue', red));
      subnet(cluster, 'sea', { cidrBlock: '10.1.0.0/24', vpc: 'red' });
      cluster.settle();
      for (const name of ['blue', 'red']) assert.match(falseConditions(cluster, name)['Ready'] ?? '', pattern);
      assert.deepEqual([...columns(cluster, 'peering/blue/red'), ...columns(cluster, 'peering/red/blue')], []);
    }
  });

  test('a link in force stays in force against a later Subnet, also over a restart', () => {
    const cluster = basic();
    const build = (one: TestCluster, status: object): void => {
      for (const [name, remote, ip] of [
        ['blue', 'red', '192.168.7.1/30'],
        ['red', 'blue', '192.168.7.2/30'],
      ] as const)
        one.change('vpcs', name, parseVpc({ metadata: meta(name), spec: peer(remote, ip), status }));
    };
    build(cluster, {});
    cluster.settle();
    subnet(cluster, 'late', { cidrBlock: '192.168.7.0/24', vpc: 'red' });
    cluster.settle();
    assert.deepEqual([peers(cluster, 'blue'), peers(cluster, 'red')], [['red'], ['blue']]);
    assert.match(
      cluster.verdicts.get('late')?.problem?.message ?? '',
      /overlaps 192\.168\.7\.0\/30 between Vpc red and blue/,
    );

    const next = new TestCluster();
    build(next, { vpcPeerings: ['blue', 'red'] });
    subnet(next, 'late', { cidrBlock: '192.168.7.0/24', vpc: 'red' });
    next.restore(new Map());
    next.settle();
    assert.deepEqual([peers(next, 'blue'), peers(next, 'red')], [['red'], ['blue']]);
  });

  test('two links of one router do not overlap, nor with the network between clusters', () => {
    const cluster = basic();
    const vpcPeerings = [
      { remoteVpc: 'red', localConnectIP: '169.254.0.1/24' },
      { remoteVpc: 'green', localConnectIP: '169.254.0.5/30' },
      { remoteVpc: 'red', localConnectIP: '169.254.7.1/24' },
      { remoteVpc: 'blue', localConnectIP: '169.254.8.1/24' },
    ];
    vpc(cluster, 'blue', { vpcPeerings });
    vpc(cluster, 'red', peer('blue', '169.254.0.2/24'));
    vpc(cluster, 'green', peer('blue', '169.254.0.6/30'));
    cluster.settle();
    assert.deepEqual(peers(cluster, 'blue'), ['red']);
    const { Validated: text = '' } = falseConditions(cluster, 'blue');
    assert.match(
      text,
      /\[1\]\.localConnectIP: 169\.254\.0\.4\/30 overlaps 169\.254\.0\.0\/24 between Vpc blue and red/,
    );
    assert.match(text, /\[2\]\.remoteVpc: red is listed twice/);
    assert.match(text, /\[3\]\.remoteVpc: blue is this Vpc/);
    vpc(cluster, 'ovn-cluster', peer('green', '169.254.9.1/24'));
    vpc(cluster, 'green', peer('ovn-cluster', '169.254.9.2/24'));
    cluster.settle();
    assert.deepEqual(peers(cluster, 'green'), ['ovn-cluster']);
    cluster.change(
      'transitSwitches',
      'ts',
      parseTransitSwitch({ metadata: meta('ts'), status: { cidr: '169.254.0.0/16' } }),
    );
    assert.ok(cluster.settle().has('vpc/green'));
    assert.match(
      falseConditions(cluster, 'green')['Ready'] ?? '',
      /overlaps the network between clusters \(transit switch ts\)/,
    );
    const refused = { type: 'Ready', status: 'False', reason: 'TransitOverlap', message: '' };
    const later = { cidr: '169.254.0.0/16', conditions: [refused] };
    cluster.change('transitSwitches', 'ts', parseTransitSwitch({ metadata: meta('ts'), status: later }));
    cluster.settle();
    assert.deepEqual(peers(cluster, 'green'), ['ovn-cluster'], 'a transit switch without a port takes nothing');
  });

  test('the name of a router port belongs to one peering', () => {
    const cluster = basic();
    vpc(cluster, 'a', peer('b-c', '169.254.1.1/30'), created(2));
    vpc(cluster, 'b-c', peer('a', '169.254.1.2/30'), created(2));
    vpc(cluster, 'a-b', peer('c', '169.254.2.1/30'), created(3));
    vpc(cluster, 'c', peer('a-b', '169.254.2.2/30'), created(3));
    cluster.settle();
    assert.deepEqual(peers(cluster, 'a'), ['b-c']);
    for (const name of ['a-b', 'c'])
      assert.match(
        falseConditions(cluster, name)['Ready'] ?? '',
        /NameConflict: .* port a-b-c would be that of the peering of Vpc a with b-c/,
      );
    subnet(cluster, 'b-c', { cidrBlock: '10.1.0.0/24', vpc: 'a' }, created(4));
    subnet(cluster, 'c', { cidrBlock: '10.2.0.0/24', vpc: 'a-b' }, created(5));
    subnet(cluster, 'x', { cidrBlock: '10.1.0.0/24', vpc: 'a-b' }, created(5));
    cluster.settle();
    assert.deepEqual(peers(cluster, 'a'), ['b-c'], 'what comes later takes no name from a peering in force');
    for (const [name, of] of [
      ['b-c', 'b-c and Vpc a'],
      ['c', 'c and Vpc a-b'],
    ] as const) {
      const { code, message = '' } = cluster.verdicts.get(name)?.problem ?? {};
      assert.equal(code, 'NameConflict');
      assert.ok(
        message.startsWith(
          `the ports between ${of} would have the same name as the port of the peering of Vpc a with b-c`,
        ),
      );
    }
    assert.equal(cluster.verdicts.get('x')?.problem, undefined, 'networks of different VPCs may overlap');
    for (const name of ['a', 'a-b']) vpc(cluster, name, {}, created(2));
    cluster.settle();
    assert.equal(cluster.verdicts.get('b-c')?.problem, undefined, 'free as soon as no peering has the name');
  });

  test('names that a subnet in force has', () => {
    const cluster = basic();
    for (const name of ['a', 'a-b']) vpc(cluster, name, {}, created(2));
    subnet(cluster, 'b-c', { cidrBlock: '10.1.0.0/24', vpc: 'a' }, created(4));
    subnet(cluster, 'c', { cidrBlock: '10.2.0.0/24', vpc: 'a-b' }, created(5));
    cluster.settle();
    vpc(cluster, 'a', peer('b-c', '169.254.1.1/30'), created(2));
    vpc(cluster, 'b-c', peer('a', '169.254.1.2/30'), created(2));
    cluster.settle();
    assert.match(
      falseConditions(cluster, 'a')['Ready'] ?? '',
      /NameConflict: .* port a-b-c would be that of subnet b-c of Vpc a/,
    );
    assert.match(
      cluster.verdicts.get('c')?.problem?.message ?? '',
      /^the ports between c and Vpc a-b .* of subnet b-c/,
    );
  });
});
