import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { namespaces, subnets, vpcs } from '../../lib/kube/resources.ts';
import type { Row } from 'ovsdb-client';
import { ControllerBed, nameOf } from './controller-bed.ts';
import { eventually } from '../../lib/testing-eventually.ts';

let bed: ControllerBed;
before(async () => {
  bed = await ControllerBed.open();
  await bed.createNode('n1', '172.30.1.11');
  await bed.start();
});
after(() => bed.close());

const create = (name: string, spec: object): Promise<unknown> =>
  bed.kube.create(vpcs, { apiVersion: 'kubeovn.io/v1', kind: 'Vpc', metadata: { name }, spec });
const edit = (name: string, spec: object): Promise<unknown> => bed.kube.patch(vpcs, { name }, 'merge', { spec });

interface Status {
  readonly conditions?: readonly { readonly type: string; readonly status: string; readonly message: string }[];
  readonly [field: string]: unknown;
}

async function statusOf(name: string): Promise<Status> {
  const object = await bed.kube.get(vpcs, { name });
  return (object['status'] ?? {}) as Status;
}

/** Waits for a condition; returns its message. */
function until(name: string, type: 'Validated' | 'Ready', status: 'True' | 'False', pattern = /^/): Promise<string> {
  return eventually(`${type}=${status} of Vpc ${name} like ${pattern}`, async () => {
    const condition = (await statusOf(name)).conditions?.find((one) => one.type === type);
    if (condition?.status !== status || !pattern.test(condition.message)) throw new Error(JSON.stringify(condition));
    return condition.message === '' ? ' ' : condition.message;
  });
}

/** The rows that a column of a router refers to. */
function held(router: string, column: 'static_routes' | 'policies' | 'ports', table: string): readonly Row[] {
  const uuids = (bed.row('Logical_Router', router)?.[column] ?? []) as readonly string[];
  return uuids.flatMap((uuid) => bed.nb.cache.table(table).rows.get(uuid) ?? []);
}

const routes = (router: string): readonly string[] =>
  held(router, 'static_routes', 'Logical_Router_Static_Route')
    .map((row) => [row['policy'], row['ip_prefix'], row['nexthop'], row['route_table']].join(' ').trim())
    .sort();
const policies = (router: string): readonly string[] =>
  held(router, 'policies', 'Logical_Router_Policy')
    .map((row) => [row['priority'], row['match'], row['action'], ...(row['nexthops'] as string[])].join(' '))
    .sort();

describe('a Vpc', () => {
  test('has a router, load balancers, a status, and Subnets that may overlap those of other Vpcs', async () => {
    for (const name of ['blue', 'red']) {
      await create(name, {});
      await bed.createSubnet(`${name}-net`, { cidrBlock: '10.90.0.0/24', vpc: name });
      await bed.untilCondition(`${name}-net`, 'Ready', 'True');
    }
    await until('blue', 'Ready', 'True');
    const options = {
      mac_binding_age_threshold: '300',
      dynamic_neigh_routers: 'true',
      always_learn_from_arp_request: 'false',
    };
    assert.deepEqual(bed.row('Logical_Router', 'blue')?.['options'], options);
    assert.deepEqual([routes('blue'), policies('blue')], [[], []]);
    assert.deepEqual(bed.row('Logical_Router_Port', 'blue-blue-net')?.['networks'], ['10.90.0.1/24']);
    const names = ['tcp', 'udp', 'sctp'].flatMap((one) => [`vpc-blue-${one}-load`, `vpc-blue-${one}-sess-load`]);
    const balancers = bed.row('Logical_Switch', 'blue-net')?.['load_balancer'] as readonly string[];
    const rows = balancers.map((uuid) => bed.nb.cache.table('Load_Balancer').rows.get(uuid));
    assert.deepEqual(rows.map(nameOf).sort(), names.sort());
    const session = bed.row('Load_Balancer', 'cluster-tcp-session-loadbalancer');
    assert.deepEqual(bed.row('Load_Balancer', 'vpc-blue-udp-load')?.['options'], { ct_flush: 'true' });
    assert.deepEqual([session?.['protocol'], session?.['options']], ['tcp', { affinity_timeout: '10800' }]);
    assert.deepEqual(bed.row('Logical_Switch', 'join')?.['load_balancer'], []);
    await eventually('status', async () => {
      const {
        standby,
        router,
        subnets: joined,
        defaultLogicalSwitch,
        sctpSessionLoadBalancer,
      } = await statusOf('blue');
      assert.deepEqual([standby, router, joined, defaultLogicalSwitch], [true, 'blue', ['blue-net'], 'blue-net']);
      return sctpSessionLoadBalancer === 'vpc-blue-sctp-sess-load';
    });
  });

  test('serves the valid parts of a spec and reports the invalid ones', async () => {
    await edit('blue', {
      bfdPort: { enabled: true, ip: '10.255.255.255' },
      staticRoutes: [
        { cidr: '10.91.0.7/24', nextHopIP: '10.90.0.254' },
        { cidr: '10.92.0.0/24', nextHopIP: '10.90.0.254', bfdId: 'x' },
        { cidr: '10.91.0.0/24', nextHopIP: '10.90.0.253', ecmpMode: 'ecmp_symmetric_reply' },
        { policy: 'policySrc', cidr: '10.90.0.9', nextHopIP: '10.90.0.254', routeTable: 'side' },
      ],
      policyRoutes: [
        { priority: 10, match: 'ip4.src == 10.90.0.9', action: 'reroute', nextHopIP: '10.90.0.254,10.90.0.253' },
        { priority: 10, match: 'ip4.src = 10.90.0.9', action: 'drop' },
        { priority: 11, match: 'ip4.dst == 10.99.0.0/16', action: 'drop' },
      ],
    });
    const message = await until('blue', 'Validated', 'False', /^spec\.bfdPort cannot be served/);
    assert.match(message, /staticRoutes\[1\]\.bfdId cannot .*policyRoutes\[1\]\.match: /);
    assert.deepEqual(routes('blue'), [
      'dst-ip 10.91.0.0/24 10.90.0.253',
      'dst-ip 10.91.0.0/24 10.90.0.254',
      'src-ip 10.90.0.9/32 10.90.0.254 side',
    ]);
    assert.deepEqual(policies('blue'), [
      '10 ip4.src == 10.90.0.9 reroute 10.90.0.253 10.90.0.254',
      '11 ip4.dst == 10.99.0.0/16 drop',
    ]);
    await bed.event('NotSupported', 'blue', /staticRoutes\[1\]/);
    await bed.kube.patch(subnets, { name: 'blue-net' }, 'merge', { spec: { routeTable: 'side' } });
    await eventually('the table of the subnet', () => {
      const options = bed.row('Logical_Router_Port', 'blue-blue-net')?.['options'] as Record<string, string>;
      return options['route_table'] === 'side';
    });
    await edit('blue', { bfdPort: null, staticRoutes: [], policyRoutes: [] });
    await until('blue', 'Validated', 'True');
    await until('blue', 'Ready', 'True');
    assert.deepEqual([routes('blue'), policies('blue')], [[], []]);
    await bed.kube.patch(subnets, { name: 'blue-net' }, 'merge', { spec: { routeTable: '' } });
    await eventually('no table', () => {
      const options = bed.row('Logical_Router_Port', 'blue-blue-net')?.['options'] as Record<string, string>;
      return options['route_table'] === undefined;
    });
  });

  test('writes nothing when its routes are reordered or written in another form', async () => {
    const list = ['10.90.0.252', '10.90.0.253', '10.90.0.254'].map((nextHopIP) => ({ cidr: '0.0.0.0/0', nextHopIP }));
    await edit('blue', { staticRoutes: list });
    await eventually('the routes', () => routes('blue').length === 3);
    await bed.quiet();
    const { changes } = bed;
    await edit('blue', { staticRoutes: list.toReversed().map((route) => ({ ...route, policy: 'policyDst' })) });
    await bed.quiet();
    assert.equal(bed.changes, changes);
  });
});

test('the API server refuses a spec that is invalid by itself', async () => {
  const cases: readonly (readonly [object, RegExp])[] = [
    [{ staticRoutes: [{ cidr: '10.0.0.0/8', nextHopIP: 'fd00::1' }] }, /must be of one family/],
    [{ policyRoutes: [{ priority: 1, match: 'ip4', action: 'reroute' }] }, /needs nextHopIP/],
    [
      { vpcPeerings: [{ remoteVpc: 'red', localConnectIP: '169.254.0.1/30,fd00::1' }] },
      /localConnectIP must be an address with its prefix length/,
    ],
  ];
  for (const [spec, pattern] of cases) await assert.rejects(create('wrong', spec), pattern);
  await create('right', { vpcPeerings: [{ remoteVpc: 'x', localConnectIP: '169.254.0.1/30, fd00::1/126' }] });
  await bed.kube.delete(vpcs, { name: 'right' });
});

describe('routes and policies of the default Vpc', () => {
  const routesBefore = ['dst-ip 0.0.0.0/0 100.64.0.1'];

  test('replace those of a former spec after an edit while the controller was down', async () => {
    const own = policies('ovn-cluster');
    assert.deepEqual(routes('ovn-cluster'), routesBefore);
    await edit('ovn-cluster', {
      staticRoutes: [{ cidr: '10.93.0.0/24', nextHopIP: '10.16.0.9' }],
      policyRoutes: [{ priority: 20, match: 'ip4.dst == 10.93.0.0/24', action: 'allow' }],
    });
    await eventually(
      'both',
      () => routes('ovn-cluster').length === 2 && policies('ovn-cluster').length === own.length + 1,
    );
    const router = bed.row('Logical_Router', 'ovn-cluster')?._uuid ?? '';
    const foreign = { priority: 7, match: 'ip4.dst == 192.0.2.1', action: 'drop' };
    await bed.nb.transact([
      { op: 'insert', table: 'Logical_Router_Policy', row: foreign, uuidName: 'foreign' },
      {
        op: 'mutate',
        table: 'Logical_Router',
        where: [['_uuid', '==', router]],
        mutations: [['policies', 'insert', [{ named: 'foreign' }]]],
      },
    ]);
    await bed.kill();
    await edit('ovn-cluster', {
      staticRoutes: [{ cidr: '10.94.0.0/24', nextHopIP: '10.16.0.9' }],
      policyRoutes: [{ priority: 20, match: 'ip4.dst == 10.94.0.0/24', action: 'drop' }],
    });
    await bed.start();
    await bed.quiet();
    assert.deepEqual(routes('ovn-cluster'), [...routesBefore, 'dst-ip 10.94.0.0/24 10.16.0.9']);
    const now = [...own, '20 ip4.dst == 10.94.0.0/24 drop', '7 ip4.dst == 192.0.2.1 drop'].sort();
    assert.deepEqual(policies('ovn-cluster'), now, 'and those of others stay');
    await edit('ovn-cluster', { staticRoutes: [], policyRoutes: [] });
    await eventually(
      'all is as before',
      () => routes('ovn-cluster').length === 1 && policies('ovn-cluster').length === own.length + 1,
    );
  });

  test('include the user’s default route instead of Isthmus’s', async () => {
    await edit('ovn-cluster', { staticRoutes: [{ cidr: '0.0.0.0/0', nextHopIP: '10.16.0.9' }] });
    await eventually('the exchange', () => routes('ovn-cluster').join() === 'dst-ip 0.0.0.0/0 10.16.0.9');
    await edit('ovn-cluster', { staticRoutes: [] });
    await eventually('ours', () => routes('ovn-cluster').join() === routesBefore.join());
  });

  test('stay when the Vpc object is deleted, which is created again', async () => {
    const { metadata } = await bed.kube.get(vpcs, { name: 'ovn-cluster' });
    await bed.kube.delete(vpcs, { name: 'ovn-cluster' });
    await eventually('another one', async () => {
      const object = await bed.kube.get(vpcs, { name: 'ovn-cluster' });
      return object.metadata.uid !== metadata.uid && (object['status'] as Status | undefined)?.['standby'] === true;
    });
    assert.ok(bed.row('Logical_Router', 'ovn-cluster'));
  });
});

describe('peering', () => {
  test('has ports at both ends while both Vpcs list it', async () => {
    await edit('blue', { staticRoutes: [], vpcPeerings: [{ remoteVpc: 'red', localConnectIP: '169.254.0.1/30' }] });
    await until('blue', 'Ready', 'False', /Vpc red does not list blue: add it/);
    assert.equal(bed.row('Logical_Router_Port', 'blue-red'), undefined);
    await edit('red', { vpcPeerings: [{ remoteVpc: 'blue', localConnectIP: '169.254.0.2/30' }] });
    await until('blue', 'Ready', 'True');
    await until('red', 'Ready', 'True');
    const ends = ['blue-red', 'red-blue'].map((name) => bed.row('Logical_Router_Port', name));
    assert.deepEqual(
      ends.map((row) => [row?.['peer'], row?.['networks']]),
      [
        ['red-blue', ['169.254.0.1/30']],
        ['blue-red', ['169.254.0.2/30']],
      ],
    );
    assert.deepEqual((await statusOf('blue'))['vpcPeerings'], ['red']);
    await edit('red', { vpcPeerings: [] });
    await until('blue', 'Ready', 'False', /does not list blue/);
    await eventually('no ports', () =>
      ['blue-red', 'red-blue'].every((name) => bed.row('Logical_Router_Port', name) === undefined),
    );
    assert.deepEqual((await statusOf('blue'))['vpcPeerings'], []);
    await edit('red', { vpcPeerings: [{ remoteVpc: 'blue', localConnectIP: '169.254.0.6/30' }] });
    await until('red', 'Validated', 'False', /are not in the same network/);
    await edit('red', { vpcPeerings: [{ remoteVpc: 'blue', localConnectIP: '169.254.0.2/30' }] });
    await until('red', 'Ready', 'True');
    assert.ok(bed.row('Logical_Router_Port', 'red-blue'));
  });
});

describe('namespaces and default subnets', () => {
  test('of a Vpc let pods wait for the subnet of the Vpc', async () => {
    await bed.createNamespace('shop');
    await create('green', { namespaces: ['shop'], defaultSubnet: 'meadow' });
    await until('green', 'Ready', 'False', /spec\.defaultSubnet: subnet meadow does not exist/);
    await bed.createPod('till', { namespace: 'shop' });
    await bed.event('AcquireAddressFailed', 'till', /meadow does not exist/);
    await create('late', { namespaces: ['shop'] });
    await until('late', 'Validated', 'False', /shop is in Vpc green.*, which had it before/);
    await bed.createSubnet('meadow', { cidrBlock: '10.95.0.0/24', vpc: 'green' });
    assert.equal(await bed.address('till', 'shop'), '10.95.0.2');
    await until('green', 'Ready', 'True');
    assert.equal((await statusOf('green'))['defaultLogicalSwitch'], 'meadow');
    await eventually('annotations of the namespace', async () => {
      const annotations = await bed.annotations(namespaces, 'shop');
      return annotations['ovn.kubernetes.io/logical_switch'] === 'meadow';
    });
    await bed.kube.delete(vpcs, { name: 'late' });
  });
});

describe('deletion of a Vpc', () => {
  test('waits for its subnets and their pods, and leaves nothing', async () => {
    await bed.kube.delete(vpcs, { name: 'green' });
    await until('green', 'Ready', 'False', /waits for the deletion of subnets meadow/);
    await bed.createSubnet('hedge', { cidrBlock: '10.96.0.0/24', vpc: 'green' });
    await bed.untilCondition('hedge', 'Ready', 'False', 'VpcNotFound');
    await bed.kube.delete(subnets, { name: 'meadow' });
    await bed.untilCondition('meadow', 'Ready', 'False', 'Deleting');
    assert.ok(bed.row('Logical_Router', 'green'));
    await bed.deletePod('till', 'shop');
    await eventually('no trace', async () => {
      const names = (await bed.kube.list(vpcs)).map(({ metadata }) => metadata.name);
      const rows = ['Logical_Router', 'Load_Balancer', 'Logical_Router_Port'].flatMap((table) => bed.rows(table));
      return !names.includes('green') && !rows.some((row) => nameOf(row).includes('green'));
    });
    await bed.kube.delete(subnets, { name: 'hedge' });
  });
});

test('restarts write nothing', async () => {
  await edit('blue', {
    staticRoutes: [{ cidr: '10.97.0.5/24', nextHopIP: '169.254.0.2', routeTable: 'side' }],
    policyRoutes: [{ priority: 5, match: 'ip4', action: 'reroute', nextHopIP: '10.90.0.9,10.90.0.8' }],
  });
  await bed.quiet();
  for (const end of ['stop', 'kill'] as const) {
    const before = [await bed.versions(), bed.changes] as const;
    await bed[end]();
    await bed.start();
    await bed.quiet();
    assert.deepEqual([await bed.versions(), bed.changes], before);
  }
});
