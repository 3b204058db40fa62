import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Wanted } from '../../../lib/desired/row.ts';
import { fieldsOf } from '../../../lib/kube/fields.ts';
import { cidrsOverlap, parseCidr } from '../../../lib/net/cidr.ts';
import { gateNetwork } from '../../../lib/services/gate.ts';
import { randomOf } from '../../../lib/testing-random.ts';
import { isLeading } from '../../model/egress-gateway.ts';
import { planKey } from '../../plan/plan.ts';
import type { TestController } from '../../testing-api.ts';
import {
  both,
  bridge,
  controllerOf,
  made,
  node,
  outside,
  shuffled,
  storedIn,
  type Made,
} from '../../testing-external.ts';

/** Of gates on nodes, in the daemon. */
const linkNetwork = '169.254.224.0/20';
const selectors = [{ podSelector: { matchLabels: { app: 'web' } } }];

function gateway(name: string, spec: object = {}, seconds = 5): Made {
  return made('vpcEgressGateways', name, { vpc: 'blue', externalSubnet: 'external', selectors, ...spec }, seconds);
}

function pod(name: string, labels: object = { app: 'web' }): Made {
  const { kind, raw } = made('pods', name, { nodeName: 'n1' }, 0, { labels });
  return { kind, raw };
}

async function put(controller: TestController, ...objects: readonly Made[]): Promise<void> {
  for (const { kind, raw } of objects) controller.put(kind, raw);
  await controller.settle();
}

const keyOf = (name: string): string => `egress-gateway/default/${name}`;

interface Status {
  readonly ready?: boolean;
  readonly externalIPs?: readonly string[];
  readonly internalIPs?: readonly string[];
  readonly workload?: { readonly nodes: readonly string[] };
  readonly conditions?: readonly { readonly type: string; readonly reason: string; readonly message: string }[];
}

function statusOf({ objects }: TestController, name: string): Status {
  return fieldsOf(objects.get(`VpcEgressGateway/default/${name}`)?.['status']);
}

function reason(controller: TestController, name: string, type = 'Ready'): string | undefined {
  return statusOf(controller, name).conditions?.find((one) => one.type === type)?.reason;
}

/** `<action> <match>` of the policies of the VPC. */
function policies({ cluster }: TestController, name: string): readonly string[] {
  return planKey(cluster, keyOf(name)).rows.flatMap(({ table, parent, columns }) =>
    table === 'Logical_Router_Policy' && parent?.key === 'blue'
      ? [`${String(columns['action'])} ${String(columns['match'])}`]
      : [],
  );
}

function members({ cluster }: TestController, name: string): readonly Wanted[] {
  const { contributions = [] } = planKey(cluster, `egress-member/default/${name}`);
  return contributions.map(({ key }) => key);
}

describe('VpcEgressGateways', () => {
  test('have a port on a node of its own for each address, and keep all of them over changes of nodes', async () => {
    const controller = await controllerOf([...outside({}), gateway('out', { replicas: 2 })]);
    const before = statusOf(controller, 'out');
    assert.equal(before.ready, true);
    assert.deepEqual(before.workload?.nodes.toSorted(), ['n1', 'n2']);
    await put(controller, node('n3', { [bridge]: 'true' }));
    assert.deepEqual(statusOf(controller, 'out').externalIPs, before.externalIPs);
    // A node of another network changes nothing.
    const rows = planKey(controller.cluster, keyOf('out'));
    await put(controller, node('n4', {}));
    assert.deepEqual(planKey(controller.cluster, keyOf('out')), rows);
    await put(controller, node('n2', {}), node('n3', {}));
    assert.equal(reason(controller, 'out'), 'FewerNodes');
    assert.deepEqual(statusOf(controller, 'out').workload?.nodes, ['n1']);
    assert.deepEqual(statusOf(controller, 'out').externalIPs, before.externalIPs);
    await put(controller, gateway('out', { replicas: 2, podAntiAffinity: 'Preferred' }));
    assert.deepEqual(statusOf(controller, 'out').workload?.nodes, ['n1', 'n1']);
    assert.equal(statusOf(controller, 'out').ready, true);
  });

  test('share connections among ports by all that tells them apart, where OVN can', async () => {
    const fields = async (routeSelection: boolean): Promise<readonly unknown[]> => {
      const objects = [...outside({}), gateway('out', { replicas: 2 })];
      const controller = await controllerOf(objects, {
        aclTier: true,
        ipv6Selection: true,
        loadBalancers: true,
        routeSelection,
      });
      const { rows } = planKey(controller.cluster, keyOf('out'));
      controller.close();
      const exits = rows.filter(({ columns }) => columns['ip_prefix'] === '0.0.0.0/0');
      assert.equal(exits.length, 2);
      return exits.map(({ columns }) => columns['selection_fields']);
    };
    assert.deepEqual(await fields(false), [undefined, undefined]);
    for (const one of await fields(true))
      assert.ok(Array.isArray(one) && one.includes('tp_src') && one.includes('ipv6_src'));
  });

  test('use the nodes that a term selects, by labels or by name', async () => {
    const matchFields = [{ key: 'metadata.name', operator: 'In', values: ['n2'] }];
    const objects = [...outside({}), node('n3', { ...both, zone: 'a' })];
    const controller = await controllerOf([
      ...objects,
      gateway('name', { nodeSelector: [{ matchFields }] }),
      gateway('zone', { nodeSelector: [{ matchLabels: { zone: 'a' } }] }),
      gateway('wrong', { nodeSelector: [{ matchFields: [{ key: 'spec.x', operator: 'In', values: ['n2'] }] }] }),
    ]);
    assert.deepEqual(statusOf(controller, 'name').workload?.nodes, ['n2']);
    assert.deepEqual(statusOf(controller, 'zone').workload?.nodes, ['n3']);
    assert.equal(reason(controller, 'wrong'), 'NoGatewayNode');
  });

  test('drop packets while they have no port if they are closed, and leave them alone otherwise', async () => {
    const closed = { bfd: { enabled: true }, replicas: 2 };
    const controller = await controllerOf([...outside({}), gateway('open'), gateway('closed', closed)]);
    const actions = (name: string): readonly string[] =>
      policies(controller, name).map((text) => text.slice(0, text.indexOf(' ')));
    // The network outside has no IPv6.
    assert.deepEqual([actions('open'), actions('closed')], [['reroute'], ['reroute', 'drop']]);
    await put(controller, node('n1', {}), node('n2', {}));
    assert.deepEqual([actions('open'), actions('closed')], [[], ['drop', 'drop']]);
    for (const name of ['open', 'closed']) assert.equal(reason(controller, name), 'NoGatewayNode');
    assert.deepEqual(
      planKey(controller.cluster, 'external-exit/blue').rows.map(({ table }) => table),
      ['Address_Set', 'Address_Set'],
    );
    await put(controller, gateway('closed', { ...closed, image: 'example.com/gateway' }));
    assert.deepEqual(actions('closed'), ['drop', 'drop']);
    assert.equal(reason(controller, 'closed', 'Validated'), 'NeedsPods');
  });

  test('say what only a pod could do, and what they wait for', async () => {
    const policy = { snat: true, ipBlocks: ['10.90.0.0/28'] };
    const controller = await controllerOf([
      ...outside({}),
      gateway('bgp', { bgpConf: 'a' }),
      gateway('limited', { bandwidth: { ingress: '10M' } }),
      gateway('lost', { vpc: 'nowhere' }),
      gateway('inside', { externalSubnet: 'inner' }),
      gateway('few', { replicas: 2, externalIPs: ['203.0.113.9'] }),
      gateway('part', { policies: [policy, { subnets: ['ovn-default'] }] }),
      gateway('local', { trafficPolicy: 'Local' }),
      made('subnets', 'past', { vpc: 'blue', cidrBlock: '10.95.0.0/24', gateway: '10.95.0.1', vlan: 'dmz' }),
      gateway('many', { policies: [{ ipBlocks: Array.from({ length: 170 }, (_, at) => `fd00:${at}::1`) }] }),
      gateway('past', { policies: [{ subnets: ['past'] }] }),
    ]);
    const found = ['bgp', 'limited', 'lost', 'inside', 'few', 'part', 'many', 'past', 'local'].map((name) =>
      reason(controller, name),
    );
    const ready = 'VpcEgressGatewayReady';
    assert.deepEqual(found, [
      'NeedsPods',
      'NotSupported',
      'VpcNotFound',
      'NoExternalSubnet',
      'InvalidAddress',
      'SubnetNotReady',
      'TooManyNetworks',
      'SubnetNotReady',
      ready,
    ]);
    assert.equal(reason(controller, 'local', 'TrafficPolicyLocal'), 'ServedAsCluster');
    // What is there works.
    assert.equal(policies(controller, 'part').length, 2);
    await put(controller, gateway('local'));
    assert.equal(reason(controller, 'local', 'TrafficPolicyLocal'), undefined);
  });

  test('of two with overlapping networks the older one has them, also after a restart, until it is gone', async () => {
    const first = { policies: [{ snat: true, subnets: ['inner'] }] };
    const second = { policies: [{ snat: true, ipBlocks: ['10.90.0.7'] }] };
    const controller = await controllerOf([...outside({}), gateway('first', first, 7)]);
    // One that is older and comes later does not take what is in use.
    await put(controller, gateway('second', second, 3));
    assert.deepEqual(
      [reason(controller, 'first'), reason(controller, 'second')],
      ['VpcEgressGatewayReady', 'Conflict'],
    );
    const again = await controllerOf(shuffled(storedIn(controller), 3));
    assert.deepEqual(again.writes, []);
    assert.deepEqual(policies(again, 'second'), []);
    again.remove('vpcEgressGateways', 'default/first');
    await again.settle();
    assert.equal(reason(again, 'second'), 'VpcEgressGatewayReady');
  });

  test('a closed one in conflict drops its packets, but those of the other gateway, and loses no address', async () => {
    const first = { policies: [{ snat: true, subnets: ['inner'] }] };
    const closed = { bfd: { enabled: true }, replicas: 2 };
    const controller = await controllerOf([...outside({}), gateway('first', first, 3), gateway('second', closed, 4)]);
    const { externalIPs = [] } = statusOf(controller, 'second');
    assert.equal(externalIPs.length, 2);
    await put(controller, gateway('second', { ...closed, policies: [{ ipBlocks: ['10.90.0.0/16'] }] }, 4), pod('a'));
    assert.equal(reason(controller, 'second'), 'Conflict');
    const priorityOf = (name: string, action: string, source: string): unknown =>
      planKey(controller.cluster, keyOf(name)).rows.find(
        ({ parent, columns }) =>
          parent?.key === 'blue' && columns['action'] === action && String(columns['match']).includes(source),
      )?.columns['priority'];
    const taken = priorityOf('first', 'reroute', '{10.90.0.0/24}');
    assert.ok(Number(priorityOf('second', 'drop', '{10.90.0.0/16}')) < Number(taken));
    assert.ok(Number(priorityOf('second', 'drop', '$VEG.')) > Number(taken));
    controller.remove('vpcEgressGateways', 'default/first');
    await put(controller, gateway('second', { ...closed, bgpConf: 'a' }, 4));
    assert.equal(members(controller, 'a').length, 1);
    assert.deepEqual(statusOf(controller, 'second').externalIPs, externalIPs);
    await put(controller, gateway('second', closed, 4));
    assert.deepEqual(statusOf(controller, 'second').externalIPs, externalIPs);
    assert.equal(reason(controller, 'second'), 'VpcEgressGatewayReady');
  });

  test('have links in no network with another use', async () => {
    const names = Array.from({ length: 60 }, (_, index) => `g${index}`);
    const controller = await controllerOf([...outside({}), ...names.map((name) => gateway(name, { replicas: 0 }))]);
    const others = ['169.254.168.0/22', gateNetwork[4].cidr, linkNetwork].map((text) => parseCidr(text));
    for (const name of names) {
      const [link] = controller.cluster.egressGateways.get(`default/${name}`)?.link ?? [];
      const own = parseCidr(`${link?.near}/${link?.prefix}`);
      assert.ok(own);
      assert.ok(others.every((other) => other && !cidrsOverlap(own, other)));
    }
    // Not even if a status has one of them.
    const { kind, raw } = gateway('old', { replicas: 0 });
    await put(controller, { kind, raw: { ...raw, status: { internalIPs: [gateNetwork[4].gate] } } });
    assert.notEqual(controller.cluster.egressGateways.get('default/old')?.link[0]?.far, gateNetwork[4].gate);
  });

  test('have pods of their VPC as members, the oldest gateway that selects one', async () => {
    const controller = await controllerOf([
      ...outside({}),
      gateway('new', {}, 9),
      gateway('old', { selectors: [{ podSelector: { matchLabels: { tier: 'front' } } }] }, 5),
      gateway('other', { vpc: 'ovn-cluster', selectors: [{ podSelector: {} }] }, 1),
    ]);
    await put(controller, pod('a'), pod('b', { app: 'web', tier: 'front' }), pod('c', {}));
    const [inNew, inOld] = [members(controller, 'a'), members(controller, 'b')];
    assert.deepEqual([inNew.length, inOld.length, members(controller, 'c')], [1, 1, []]);
    assert.notDeepEqual(inNew, inOld);
    controller.remove('vpcEgressGateways', 'default/old');
    await controller.settle();
    assert.deepEqual(members(controller, 'b'), inNew);
    await put(controller, pod('a', {}));
    assert.deepEqual(members(controller, 'a'), []);
  });

  test('keep addresses and links over a restart with objects in any order, and newcomers take neither', async () => {
    const names = Array.from({ length: 12 }, (_, index) => `g${index}`);
    const controller = await controllerOf([
      ...outside({}),
      ...names.map((name, index) => gateway(name, { replicas: (index % 2) + 1 }, index)),
    ]);
    const held = (one: TestController): readonly unknown[] =>
      names.map((name) => [statusOf(one, name).externalIPs, statusOf(one, name).internalIPs]);
    assert.equal(new Set(names.flatMap((name) => statusOf(controller, name).internalIPs ?? [])).size, 24);
    assert.equal(new Set(names.flatMap((name) => statusOf(controller, name).externalIPs ?? [])).size, 18);
    const random = randomOf(5);
    for (let run = 0; run < 5; run += 1) {
      const again = await controllerOf(shuffled(storedIn(controller), random(1000)));
      assert.deepEqual(again.writes, []);
      assert.deepEqual(held(again), held(controller));
      // An older object that asks for the address and the link of another one.
      const [pair = ''] = statusOf(controller, 'g3').externalIPs ?? [];
      const { kind, raw } = gateway('thief', { externalIPs: [pair] }, 0);
      const status = { internalIPs: statusOf(controller, 'g3').internalIPs };
      await put(again, { kind, raw: { ...raw, status } });
      assert.deepEqual(held(again), held(controller));
      assert.equal(statusOf(again, 'thief').ready, false);
      assert.notDeepEqual(statusOf(again, 'thief').internalIPs, status.internalIPs);
    }
  });

  test('move to another address on request, and rules of the VPC get ways of their own', async () => {
    const eip = made('ovnEips', 'a', {}, 4);
    const fip = made('ovnFips', 'web', { ovnEip: 'a', vpc: 'blue', v4Ip: '10.90.0.50' }, 4);
    const controller = await controllerOf([...outside(), eip, fip]);
    const ways = (): number =>
      planKey(controller.cluster, 'ovn-fip/web').rows.filter(({ table }) => table === 'Logical_Router_Policy').length;
    assert.equal(ways(), 0);
    await put(controller, gateway('out', { externalIPs: ['203.0.113.77'] }));
    assert.equal(ways(), 2);
    await put(controller, gateway('out', { externalIPs: ['203.0.113.78'] }));
    assert.deepEqual(statusOf(controller, 'out').externalIPs, ['203.0.113.78']);
    controller.remove('vpcEgressGateways', 'default/out');
    await controller.settle();
    assert.equal(ways(), 0);
    assert.equal(isLeading(controller.cluster.egressGateways.get('default/out')), false);
  });
});
