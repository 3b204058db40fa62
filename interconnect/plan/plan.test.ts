import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseCidr, type Cidr } from '../../lib/net/cidr.ts';
import { parseIp, type Ip } from '../../lib/net/ip.ts';
import type { Gateway, Member, TransitSwitch } from '../link/messages.ts';
import type { LocalView } from '../state/local.ts';
import { Promotions } from '../state/promotion.ts';
import { memberState, orderGateways } from './gateways.ts';
import { nativePrefixes, planRemote, type RemoteContext } from './remote.ts';
import { planTransit } from './transit.ts';

const gateway = (chassis: string, ip: string): Gateway => ({
  chassis,
  hostname: `host-${chassis}`,
  encaps: [{ type: 'geneve', ip, options: { csum: 'true' } }],
});
const local: LocalView = {
  cluster: 'east',
  router: 'ovn-cluster',
  routerId: 'uuid',
  prefixes: ['10.16.0.0/16'],
  ranges: [
    { name: 'subnet ovn-default', cidr: parseCidr('10.16.0.0/16') as Cidr },
    { name: 'subnet join', cidr: parseCidr('100.64.0.0/16') as Cidr },
  ],
  nodeAddresses: [{ node: 'n1', ip: parseIp('172.30.1.11') as Ip }],
  gatewayNodes: [
    { node: 'n1', chassis: 'a1' },
    { node: 'n2', chassis: 'a2' },
  ],
  chassis: new Map([
    ['a1', { gateway: gateway('a1', '172.30.1.11'), isInterconnect: true }],
    ['a2', { gateway: gateway('a2', '172.30.1.12'), isInterconnect: false }],
  ]),
};
const ts: TransitSwitch = {
  name: 'ts',
  cidr: '100.100.0.0/16',
  tunnelKey: 16_711_681,
  port: {
    transitSwitch: 'ts',
    logicalPort: 'ts-east',
    mac: '0a:58:64:64:00:01',
    networks: ['100.100.0.1/16'],
    tunnelKey: 1,
    gateway: '',
  },
};
const west: Member = {
  name: 'west',
  foreign: false,
  connected: true,
  lastSeenMs: 0,
  gateways: [gateway('b1', '172.30.2.11')],
  ports: [
    {
      transitSwitch: 'ts',
      logicalPort: 'ts-west',
      mac: '0a:58:64:64:00:02',
      networks: ['100.100.0.2/16'],
      tunnelKey: 2,
      gateway: 'b1',
    },
  ],
  routes: [{ transitSwitch: 'ts', prefix: '10.17.0.0/16', nexthop: '100.100.0.2', origin: 'connected' }],
};
const context: RemoteContext = { local, switches: [ts], attached: new Set(['ts']) };
const route = (prefix: string, nexthop = '100.100.0.2') => ({
  transitSwitch: 'ts',
  prefix,
  nexthop,
  origin: 'connected',
});
const codesOf = (member: Member, inContext = context, native = nativePrefixes([])) =>
  planRemote(member, inContext, native).routes.map(({ rejected }) => rejected?.code);

describe('a remote cluster', () => {
  it('becomes its chassis, its port where its gateway is, a route and a policy', () => {
    const { northbound, southbound, routes, problems } = planRemote(west, context);
    assert.deepEqual(
      northbound.rows.map(({ table, key }) => `${table} ${key}`),
      [
        'Logical_Switch_Port ts-west',
        'Logical_Router_Static_Route west/10.17.0.0/16/100.100.0.2',
        'Logical_Router_Policy west/10.17.0.0/16',
      ],
    );
    assert.deepEqual(northbound.rows[1]?.columns, {
      ip_prefix: '10.17.0.0/16',
      nexthop: '100.100.0.2',
      output_port: 'east-ts',
    });
    assert.deepEqual(
      southbound.rows.map(({ table, key }) => `${table} ${key}`),
      ['Encap geneve/172.30.2.11', 'Chassis b1'],
    );
    assert.deepEqual(southbound.contributions, [
      { table: 'Port_Binding', key: 'ts-west', column: 'chassis', value: { ref: { table: 'Chassis', key: 'b1' } } },
    ]);
    assert.equal(routes[0]?.rejected, undefined);
    assert.deepEqual(problems, []);
  });

  it('gets no prefix that is or lies in a subnet, or holds a node or nothing at all; a wider one leaves subnets theirs', () => {
    const routes = [
      '10.16.5.0/24',
      '10.0.0.0/8',
      '100.64.0.0/10',
      '172.30.1.0/24',
      '0.0.0.0/0',
      'x',
      '10.18.0.0/16',
    ].map((prefix) => route(prefix));
    assert.deepEqual(codesOf({ ...west, routes }), [
      'Overlap',
      undefined,
      undefined,
      'Overlap',
      'PrefixInvalid',
      'PrefixInvalid',
      undefined,
    ]);
  });

  it('is reached over the transit network only', () => {
    assert.deepEqual(
      codesOf({
        ...west,
        routes: [route('10.17.0.0/16', '10.16.0.7'), { ...route('10.18.0.0/16'), transitSwitch: 'other' }],
      }),
      ['NextHopUnreachable', 'NextHopUnreachable'],
    );
    assert.deepEqual(codesOf(west, { ...context, attached: new Set() }), ['NoGateway']);
  });

  it('has no gateway with the name or the tunnel address of a chassis of this cluster', () => {
    const gateways = [gateway('a1', '172.30.2.1'), gateway('b2', '172.30.1.12'), gateway('b3', '172.30.2.3')];
    const plan = planRemote({ ...west, gateways }, context);
    assert.deepEqual(
      plan.problems.map(({ code }) => code),
      ['DuplicateChassis', 'DuplicateEncap'],
    );
    assert.deepEqual(
      plan.southbound.rows.map(({ key }) => key),
      ['geneve/172.30.2.3', 'b3'],
    );
    assert.equal(plan.southbound.contributions?.[0]?.value, null, 'its port is nowhere while its holder was not taken');
  });

  it('with its own ovn-ic takes no prefix of a member that the hub answers for', () => {
    const outside = { ...west, name: 'outside', foreign: true, routes: [route('10.17.4.0/22'), route('10.19.0.0/16')] };
    assert.deepEqual(codesOf(outside, context, nativePrefixes([west, outside])), ['Overlap', undefined]);
  });

  it('has one policy for a prefix with two next hops', () => {
    const routes = [route('10.17.0.0/16'), route('10.17.0.0/16', '100.100.0.3')];
    const rows = planRemote({ ...west, routes }, context).northbound.rows;
    assert.deepEqual(
      rows.map(({ table }) => table).filter((table) => table.startsWith('Logical_Router_')),
      ['Logical_Router_Static_Route', 'Logical_Router_Static_Route', 'Logical_Router_Policy'],
    );
  });
});

describe('gateways', () => {
  const nodes = ['n3', 'n1', 'n2'].map((node) => ({ node, chassis: node.replace('n', 'a') }));
  const order = (present: readonly { chassis: string; priority: number }[], active: string) =>
    orderGateways(nodes, { present, active }).map(({ chassis }) => chassis);

  it('begin in the order of their nodes', () => {
    assert.deepEqual(order([], ''), ['a1', 'a2', 'a3']);
  });
  it('keep their order, whoever holds the port first, those that are gone left out', () => {
    const present = [
      { chassis: 'a3', priority: 1000 },
      { chassis: 'gone', priority: 999 },
      { chassis: 'a1', priority: 998 },
    ];
    assert.deepEqual(order(present, ''), ['a3', 'a1', 'a2']);
    assert.deepEqual(order(present, 'a1'), ['a1', 'a3', 'a2']);
    assert.deepEqual(order(present, 'gone'), ['a3', 'a1', 'a2']);
  });
  it('are a fixed point: what was ordered once is not ordered again', () => {
    const once = orderGateways(nodes, { present: [], active: 'a2' });
    assert.deepEqual(orderGateways(nodes, { present: once, active: 'a2' }), once);
  });
  it('are told to the hub when their ovn-controller makes tunnels to other clusters', () => {
    assert.deepEqual(memberState(local, 'a2'), {
      gateways: [gateway('a1', '172.30.1.11')],
      activeGateway: '',
      prefixes: ['10.16.0.0/16'],
      routerId: 'uuid',
    });
  });
  it('leave the router port out while there is none', () => {
    assert.deepEqual(
      planTransit(local, ts, []).rows.map(({ table }) => table),
      ['Logical_Switch'],
    );
  });
});

describe('promotion', () => {
  it('follows a change at once, then not back for a while, and never to nobody', () => {
    let now = 0;
    const promotions = new Promotions(() => now);
    const at = (ms: number, holder: string) => {
      now = ms;
      return promotions.next('ts', holder);
    };
    assert.deepEqual(at(0, ''), { chassis: '', againMs: undefined });
    assert.deepEqual(at(0, 'a1'), { chassis: 'a1', againMs: undefined });
    assert.deepEqual(at(100, 'a2'), { chassis: 'a2', againMs: undefined });
    assert.deepEqual(at(200, 'a1'), { chassis: 'a2', againMs: 9900 });
    assert.deepEqual(at(300, ''), { chassis: 'a2', againMs: undefined });
    assert.deepEqual(at(10_100, 'a1'), { chassis: 'a1', againMs: undefined });
  });
});
