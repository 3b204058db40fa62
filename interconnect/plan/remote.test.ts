import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { RoutePolicy } from '../../lib/route-policy/policy.ts';
import { routePolicySpec } from '../../lib/api/kinds/route-policy.ts';
import type { Member } from '../model/messages.ts';
import { OfferTable } from '../state/offers.ts';
import { ownOffers, type Offer } from '../model/offers.ts';
import type { OwnNetwork } from '../model/networks.ts';
import { choose } from '../settle/choice.ts';
import { judgeRoutes, wasTaken, type RemoteContext } from '../settle/judgement.ts';
import { parseIp, type Ip } from '../../lib/net/ip.ts';
import { compilePolicies, noPolicies } from '../../lib/route-policy/compile.ts';
import { settlePaths, noMemory, type PathVerdict } from '../settle/paths.ts';
import { planRemote } from './remote.ts';
import { acceptGateways } from '../settle/gateways.ts';
import { offersOf, offersOfEdges, usableOf, useRoutes } from '../settle/route-use.ts';
import { cidr, gateway, local, network, ownPath, port, route, west } from '../model/testing.ts';
import { planBfd, planPath } from './transit.ts';

const contextWith = (one: OwnNetwork, policies = noPolicies): RemoteContext => ({
  local,
  gateways: ['a1', 'a2'],
  networks: new Map([[one.name, one]]),
  policies,
  aggregates: new Map(),
});
const context = contextWith(network());
const noNatives = () => undefined;
const codesOf = (member: Member, inContext = context) =>
  judgeRoutes(member, inContext, noNatives).routes.map(({ rejected }) => rejected?.code);

const verdictsOf = (member: Member, downSwitches: readonly string[] = []): readonly PathVerdict[] =>
  settlePaths(
    network().paths.map(({ index, switch: name, order, holder, isRetiring }) => {
      const remote = member.ports.find((one) => one.switch === name);
      return {
        network: 'ts',
        index,
        switch: name,
        isRetiring,
        local: { order, holder, isDraining: false },
        remote: { order: remote?.gateways ?? [], holder: remote?.holder ?? '', isDraining: false },
        refused: new Map(),
        tunnelTo: () => (downSwitches.includes(name) ? 'down' : 'up'),
      };
    }),
    noMemory,
    { nowMs: 0, holdDownMs: 0 },
  ).verdicts;

function planOf(member: Member, downSwitches: readonly string[] = []) {
  const verdicts = verdictsOf(member, downSwitches);
  const { routes } = judgeRoutes(member, context, noNatives);
  const table = new OfferTable();
  table.set(member.name, offersOf(member, routes, usableOf(verdicts)));
  const uses = useRoutes(member.name, routes, verdicts, (key) => table.all(key));
  const { gateways } = acceptGateways(member, local);
  return {
    uses,
    plan: planRemote({
      member,
      ownHandle: 'east',
      ownGateways: ['a1', 'a2'],
      departing: [],
      networks: context.networks,
      gateways,
      routes: uses,
    }),
  };
}
const keys = (rows: readonly { table: string; key: string }[]) => rows.map(({ table, key }) => `${table} ${key}`);

describe('a node with an address in a prefix of another cluster', () => {
  const claimed = {
    ...local,
    nodeAddresses: [...local.nodeAddresses, { node: 'bad', ip: parseIp('10.17.0.5') as Ip }],
  };
  const cluster: Member = { ...west, routes: [route('10.17.0.0/16'), route('10.16.0.0/24')] };

  it('keeps out a prefix that comes later, and not a prefix that was accepted before, also while it waits', () => {
    assert.deepEqual(codesOf(cluster, { ...context, local: claimed }), ['Overlap', 'Overlap']);
    let before = judgeRoutes(cluster, context, noNatives);
    assert.deepEqual(
      before.routes.map(({ rejected }) => rejected?.code),
      [undefined, 'Overlap'],
    );
    const bad = { ...context, local: claimed };
    for (const member of [cluster, { ...cluster, gateways: [] }, cluster]) {
      const last = before;
      before = judgeRoutes(member, bad, noNatives, (prefix) => wasTaken(last, prefix));
    }
    assert.deepEqual(
      before.routes.map(({ rejected }) => rejected?.code),
      [undefined, 'Overlap'],
    );
    const afterRestart = judgeRoutes(cluster, bad, noNatives, (prefix) => prefix === '10.17.0.0/16');
    assert.deepEqual(afterRestart, before);
  });
});

describe('a remote cluster', () => {
  it('has chassis, ports that its gateways hold in their order, a route per path and an exemption', () => {
    const { plan } = planOf(west);
    assert.deepEqual(keys(plan.northbound.rows), [
      'HA_Chassis isthmus-interconnect/b1',
      'HA_Chassis isthmus-interconnect/b2',
      'HA_Chassis_Group isthmus-interconnect:ts-west',
      'HA_Chassis isthmus-interconnect:ts-west/b1',
      'HA_Chassis isthmus-interconnect:ts-west/b2',
      'Logical_Switch_Port ts-west',
      'HA_Chassis_Group isthmus-interconnect:ts1-west',
      'HA_Chassis isthmus-interconnect:ts1-west/b2',
      'HA_Chassis isthmus-interconnect:ts1-west/b1',
      'Logical_Switch_Port ts1-west',
      'Logical_Switch_Port isthmus-interconnect:ts:b1',
      'Logical_Switch_Port isthmus-interconnect:ts:b2',
      'Logical_Router_Static_Route west/10.17.0.0/16/100.100.0.2',
      'Logical_Router_Static_Route west/10.17.0.0/16/100.100.32.2',
    ]);
    assert.deepEqual(plan.northbound.contributions, [
      { table: 'Address_Set', key: 'isthmus.interconnect.v4', column: 'addresses', values: ['10.17.0.0/16'] },
    ]);
    assert.deepEqual(plan.northbound.rows[5]?.columns, {
      type: 'external',
      addresses: ['0a:58:64:64:00:02 100.100.0.2/19'],
      options: { 'requested-tnl-key': '2' },
      ha_chassis_group: { ref: { table: 'HA_Chassis_Group', key: 'isthmus-interconnect:ts-west' } },
    });
    assert.deepEqual(keys(plan.southbound.rows), [
      'Encap geneve/172.30.2.11',
      'Chassis b1',
      'Encap geneve/172.30.2.12',
      'Chassis b2',
    ]);
  });

  it('has gateways as witnesses for the last local gateway: ports without packets, bound on the remote chassis', () => {
    const { northbound, southbound } = planOf(west).plan;
    const witness = northbound.rows.find(({ key }) => key === 'isthmus-interconnect:ts:b1');
    assert.deepEqual(witness?.columns, { type: 'remote', enabled: false });
    assert.equal(witness.parent?.key, 'ts');
    assert.deepEqual(
      southbound.contributions,
      ['b1', 'b2'].map((chassis) => ({
        table: 'Port_Binding',
        key: `isthmus-interconnect:ts:${chassis}`,
        column: 'chassis',
        value: { ref: { table: 'Chassis', key: chassis } },
      })),
    );
  });

  it('with a single gateway has the gateways of this cluster behind it, because a group needs two', () => {
    const ports = [port('west', 2, 0, { gateways: ['b1'], holder: 'b1' })];
    const { plan } = planOf({ ...west, gateways: west.gateways.slice(0, 1), ports });
    const group = plan.northbound.rows.filter(({ key }) => key.startsWith('isthmus-interconnect:ts-west/'));
    assert.deepEqual(
      group.map(({ columns }) => columns['chassis_name']),
      ['b1', 'a1', 'a2'],
    );
  });

  it('is found by its MAC in rows whose owner follows from their content', () => {
    const { plan } = planOf(west);
    assert.deepEqual([...plan.fdb.keys()], ['fdb/16711681/0a:58:64:64:00:02', 'fdb/16711682/0a:58:64:96:00:02']);
    assert.deepEqual(plan.fdb.values().next().value?.rows[0]?.columns, {
      mac: '0a:58:64:64:00:02',
      dp_key: 16_711_681,
      port_key: 2,
    });
  });

  it('loses the routes of a path that is down and keeps its exemption; with all paths down there is no route', () => {
    const one = planOf(west, ['ts1']);
    assert.deepEqual(
      one.uses[0]?.hops.map(({ isUsed, problem }) => [isUsed, problem?.code]),
      [
        [true, undefined],
        [false, 'NextHopDown'],
      ],
    );
    const none = planOf(west, ['ts', 'ts1']).plan.northbound;
    assert.deepEqual(
      keys(none.rows).filter((key) => key.startsWith('Logical_Router')),
      [],
    );
    const memberOf = (set: string) => ({
      table: 'Address_Set',
      key: set,
      column: 'addresses',
      values: ['10.17.0.0/16'],
    });
    assert.deepEqual(one.plan.northbound.contributions, [memberOf('isthmus.interconnect.v4')]);
    assert.deepEqual(none.contributions, [
      memberOf('isthmus.interconnect.v4'),
      memberOf('isthmus.interconnect.cut.v4'),
    ]);
  });

  it('with its own ovn-ic has remote ports on the chassis it names, no BFD and no entry in the FDB', () => {
    const foreign = { ...west, foreign: true, ports: [port('west', 2, 0, { gateways: ['b1'], holder: 'b1' })] };
    const { plan } = planOf(foreign);
    assert.deepEqual(keys(plan.northbound.rows).slice(0, 2), [
      'Logical_Switch_Port ts-west',
      'Logical_Router_Static_Route west/10.17.0.0/16/100.100.0.2',
    ]);
    assert.equal(plan.northbound.rows[0]?.columns['type'], 'remote');
    assert.equal(plan.fdb.size, 0);
    assert.deepEqual(plan.southbound.contributions, [
      { table: 'Port_Binding', key: 'ts-west', column: 'chassis', value: { ref: { table: 'Chassis', key: 'b1' } } },
    ]);
  });

  it('has no gateway with the name or the tunnel address of a chassis of this cluster', () => {
    const gateways = [gateway('a1', '172.30.2.1'), gateway('b2', '172.30.1.12'), gateway('b3', '172.30.2.3')];
    const accepted = acceptGateways({ ...west, gateways }, local);
    assert.deepEqual(
      [...accepted.refused].map(([chassis, { code }]) => [chassis, code]),
      [
        ['a1', 'DuplicateChassis'],
        ['b2', 'DuplicateEncap'],
      ],
    );
    assert.deepEqual(
      accepted.gateways.map(({ chassis }) => chassis),
      ['b3'],
    );
  });
});

describe('a prefix of another cluster', () => {
  it('is rejected if it is or lies in a subnet or a transit switch, or contains a node or nothing; a wider one leaves subnets unchanged', () => {
    const prefixes = [
      '10.16.5.0/24',
      '10.0.0.0/8',
      '100.64.0.0/10',
      '172.30.1.0/24',
      '100.100.7.0/24',
      '0.0.0.0/0',
      'x',
      '10.18.0.0/16',
    ];
    assert.deepEqual(codesOf({ ...west, routes: prefixes.map((prefix) => route(prefix)) }), [
      'Overlap',
      undefined,
      undefined,
      'Overlap',
      'Overlap',
      'PrefixInvalid',
      'PrefixInvalid',
      undefined,
    ]);
  });

  it('is rejected as a loop if it came through this cluster', () => {
    assert.deepEqual(codesOf({ ...west, routes: [route('10.20.0.0/16', { via: ['east', 'north', 'west'] })] }), [
      'Loop',
    ]);
  });

  it('is reached over paths of this cluster only', () => {
    const elsewhere = route('10.17.0.0/16', { nextHops: [{ switch: 'ts', address: '10.16.0.7' }] });
    assert.deepEqual(codesOf({ ...west, routes: [elsewhere] }), ['NextHopUnreachable']);
    assert.deepEqual(codesOf({ ...west, routes: [route('10.17.0.0/16', { transitSwitch: 'other' })] }), []);
    assert.deepEqual(codesOf(west, contextWith(network([ownPath(0, { order: [] })]))), ['NoGateway']);
  });

  it('of a zone that the hub does not check yields to a prefix that the hub checked', () => {
    const holder = (_: string, prefix: { prefix: number }) =>
      prefix.prefix === 22 ? { cidr: cidr('10.17.0.0/16'), holder: 'west' } : undefined;
    const outside = { ...west, name: 'outside', foreign: true, routes: [route('10.17.4.0/22'), route('10.19.0.0/16')] };
    assert.deepEqual(
      judgeRoutes(outside, context, holder).routes.map(({ rejected }) => rejected?.code),
      ['Overlap', undefined],
    );
  });

  it('is subject to policies', () => {
    const spec = routePolicySpec.parse({
      direction: 'Import',
      maxPrefixes: 1,
      rules: [
        { match: { prefixes: [{ cidr: '10.17.0.0/16' }] }, action: 'Deny' },
        { action: 'Allow', setPreference: 300 },
      ],
    });
    const policy: RoutePolicy = {
      name: 'p',
      uid: 'u',
      generation: 1,
      resourceVersion: '1',
      spec,
      inForce: undefined,
      status: {},
      from: undefined,
    };
    const routes = ['10.17.0.0/16', '10.18.0.0/16', '10.19.0.0/16'].map((prefix) => route(prefix));
    const judged = judgeRoutes({ ...west, routes }, contextWith(network(), compilePolicies([policy])), noNatives);
    assert.deepEqual(
      judged.routes.map(({ rejected, preference }) => rejected?.code ?? preference),
      ['Denied', 300, 'MaxPrefixes'],
    );
  });
});

describe('several offers of a prefix', () => {
  const offer = (cluster: string, net: string, preference = 100, isAlive = true, isForeign = false): Offer => ({
    cluster,
    network: net,
    preference,
    isAlive,
    isForeign,
    isLearned: false,
    isOwn: false,
  });
  const learned = (one: Offer): Offer => ({ ...one, isLearned: true });
  const kinds = (all: readonly Offer[]) => all.map((one) => choose(one, all).kind);
  it('the preferred offer is used and the other is a backup; a dead offer is not waited for', () => {
    assert.deepEqual(kinds([offer('west', 'ts'), offer('west', 'blue', 200)]), ['backup', 'used']);
    assert.deepEqual(kinds([offer('west', 'ts'), offer('west', 'blue', 200, false)]), ['used', 'used']);
    assert.deepEqual(kinds([offer('west', 'ts'), offer('west', 'blue')]), ['used', 'used']);
  });
  it('one cluster’s offer is used: of clusters that the hub checks first, then by name', () => {
    assert.deepEqual(kinds([offer('west', 'ts'), offer('north', 'blue')]), ['taken', 'used']);
    assert.deepEqual(kinds([offer('west', 'ts'), offer('north', 'blue', 100, true, true)]), ['used', 'taken']);
    assert.deepEqual(kinds([offer('west', 'ts', 100, false), offer('zest', 'blue')]), ['used', 'taken']);
    assert.deepEqual(kinds([offer('west', 'ts'), offer('north', 'blue', 50)]), ['used', 'backup']);
  });
  it('a learned prefix may be reached through any cluster: the preferred or first working one is used', () => {
    const of = (...all: readonly Offer[]) => kinds(all.map(learned));
    assert.deepEqual(of(offer('west', 'ts'), offer('north', 'ts')), ['backup', 'used']);
    assert.deepEqual(of(offer('west', 'ts'), offer('north', 'ts', 100, false)), ['used', 'backup']);
    assert.deepEqual(of(offer('west', 'ts', 200), offer('north', 'ts')), ['used', 'backup']);
    assert.deepEqual(of(offer('west', 'ts', 200, false), offer('north', 'ts')), ['backup', 'used']);
    assert.deepEqual(of(offer('west', 'ts', 100, false), offer('north', 'ts', 100, false)), ['backup', 'used']);
    assert.deepEqual(of(offer('west', 'ts'), offer('west', 'blue')), ['used', 'used']);
  });
  it('a cluster’s own prefix precedes a learned one, and learned prefixes of this cluster precede those of others', () => {
    const west = learned(offer('west', 'ts', 900));
    assert.deepEqual(kinds([west, offer('zest', 'ts', 1, false)]), ['backup', 'used']);
    const own = { ...learned(offer('', '', 0)), isOwn: true };
    assert.equal(choose(west, [west, own]).kind, 'own');
    assert.deepEqual(kinds([offer('zest', 'ts'), own]).slice(0, 1), ['used']);
  });
});

describe('a prefix that another cluster learned from its routers', () => {
  const learned = { ...west, routes: [route('192.0.2.0/24', { origin: 'bgp' })] };
  const sets = (member: Member, down: readonly string[] = []) =>
    (planOf(member, down).plan.northbound.contributions ?? []).map(({ key }) => key);

  it('is an ordinary route, but packets may take another route when no path leads there', () => {
    assert.deepEqual(sets(learned), ['isthmus.interconnect.v4']);
    assert.equal(
      planOf(learned).uses[0]?.hops.every(({ isUsed }) => isUsed),
      true,
    );
    assert.deepEqual(sets(learned, ['ts', 'ts1']), []);
    assert.deepEqual(sets(west, ['ts', 'ts1']), ['isthmus.interconnect.v4', 'isthmus.interconnect.cut.v4']);
  });

  it('waits while a router of this cluster leads there', () => {
    const verdicts = verdictsOf(learned);
    const { routes } = judgeRoutes(learned, context, noNatives);
    const table = new OfferTable();
    table.set('west', offersOf(learned, routes, usableOf(verdicts)));
    const edges = new Map([['ovn-cluster', new Map([['192.0.2.0/24', { nodes: ['n1'], tags: [] }]])]]);
    assert.deepEqual([...table.set(ownOffers, offersOfEdges(edges))], ['west']);
    const [use] = useRoutes('west', routes, verdicts, (key) => table.all(key));
    assert.deepEqual(
      use?.hops.map(({ isUsed, problem }) => [isUsed, problem?.code]),
      [
        [false, 'NotPreferred'],
        [false, 'NotPreferred'],
      ],
    );
    assert.match(use.hops[0]?.problem?.message ?? '', /leaves through a router of this cluster/);
    assert.deepEqual([...table.set(ownOffers, new Map())], ['west']);
    assert.equal(useRoutes('west', routes, verdicts, (key) => table.all(key))[0]?.isChosen, true);
  });

  it('is rejected if it equals or contains an aggregate of this cluster', () => {
    const aggregates = new Map([['ovn-cluster', [cidr('10.128.0.0/12')]]]);
    const codes = (prefix: string, origin = 'bgp') =>
      codesOf({ ...west, routes: [route(prefix, { origin })] }, { ...context, aggregates })[0];
    assert.equal(codes('10.128.0.0/12'), 'Loop');
    assert.equal(codes('10.128.0.0/9'), 'Loop');
    assert.equal(codes('10.130.0.0/16'), undefined);
    assert.equal(codes('10.128.0.0/12', 'static'), undefined);
  });
});

describe('this end of a path', () => {
  it('is a switch, a port that its gateways hold in their order, and no port while there is none', () => {
    const rows = planPath('east', 'ovn-cluster', ownPath(1)).rows;
    assert.deepEqual(keys(rows), [
      'Logical_Switch ts1',
      'Logical_Switch_Port ts1-east',
      'Logical_Router_Port east-ts1',
      'Gateway_Chassis east-ts1-a2',
      'Gateway_Chassis east-ts1-a1',
    ]);
    assert.deepEqual(
      rows.slice(3).map(({ columns }) => columns['priority']),
      [1000, 999],
    );
    assert.deepEqual(keys(planPath('east', 'ovn-cluster', ownPath(1, { order: [] })).rows), ['Logical_Switch ts1']);
  });
  it('has BFD because of one external port', () => {
    assert.deepEqual(keys(planBfd(['a1']).rows), [
      'Logical_Switch isthmus-interconnect',
      'HA_Chassis_Group isthmus-interconnect',
      'Logical_Switch_Port isthmus-interconnect',
      'HA_Chassis isthmus-interconnect/a1',
    ]);
  });
});
