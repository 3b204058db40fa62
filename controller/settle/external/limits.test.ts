import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { planKey } from '../../plan/plan.ts';
import {
  conditionOf,
  controllerOf,
  edit,
  made,
  outside,
  shuffled,
  storedIn,
  type Made,
} from '../../testing-external.ts';
import type { TestController } from '../../testing-api.ts';
import { checkMatch } from '../../../lib/ovn/match/check.ts';

const gateway = (name: string, spec: object = {}, seconds = 1): Made =>
  made('vpcNatGateways', name, { vpc: 'blue', externalSubnets: ['external'], ...spec }, seconds);
const eip = (name: string, spec: object = {}, seconds = 2): Made =>
  made('iptablesEips', name, { natGwDp: 'gw', externalSubnet: 'external', ...spec }, seconds);
const rule = { name: 'in', rateMax: '10', direction: 'ingress', priority: 1 };
const policy = (name: string, rules: readonly object[] = [rule], spec: object = {}, more: object = {}): Made =>
  made('qosPolicies', name, { bindingType: 'EIP', bandwidthLimitRules: rules, ...spec }, 1, more);

interface Status {
  readonly qosPolicy?: string;
  readonly bandwidthLimitRules?: readonly { readonly name: string }[];
  readonly conditions?: readonly { type: string; status: string; reason: string; message: string }[];
}

function statusOf(controller: TestController, key: string): Status {
  return controller.objects.get(key)?.['status'] ?? {};
}

function validated(controller: TestController, key: string): string {
  return conditionOf(controller, key, 'Validated');
}

/** Priority, direction, match, rate and burst of the limits that a key plans. */
function limits({ cluster }: TestController, key: string): readonly string[] {
  return planKey(cluster, key)
    .rows.filter(({ table }) => table === 'QoS')
    .map(({ columns: { priority, direction, match, bandwidth } }) => {
      assert.equal(checkMatch(String(match), `acl-${direction as 'to-lport'}`), undefined);
      const { rate, burst } = bandwidth as { readonly rate: number; readonly burst: number };
      return `${String(priority)} ${String(direction)} ${String(match)} ${rate}/${burst}`;
    });
}

const nameOf = (controller: TestController, key: string): string | undefined => statusOf(controller, key).qosPolicy;

describe('a QoSPolicy', () => {
  test('limits an address, each of several if it is shared', async () => {
    const egress = { ...rule, name: 'out', direction: 'egress', rateMax: '0.5', burstMax: '2' };
    const controller = await controllerOf([
      ...outside(),
      gateway('gw'),
      eip('a', { qosPolicy: 'slow', v4ip: '203.0.113.50' }),
      eip('b', { qosPolicy: 'slow', v4ip: '203.0.113.51' }),
      policy('slow', [rule, egress], { shared: true }),
    ]);
    const rows = (address: string): readonly string[] => [
      `32765 to-lport outport == "external-blue" && ip4.dst == ${address} 10000/8000`,
      `32765 from-lport inport == "external-blue" && ip4.src == ${address} 500/16000`,
    ];
    assert.deepEqual(limits(controller, 'iptables-eip/a'), rows('203.0.113.50'));
    assert.deepEqual(limits(controller, 'iptables-eip/b'), rows('203.0.113.51'));
    assert.equal(nameOf(controller, 'IptablesEIP/a'), 'slow');
    const labels = controller.objects.get('IptablesEIP/a')?.['metadata'] as { labels?: Record<string, string> };
    assert.deepEqual(labels.labels, { 'ovn.kubernetes.io/qos': 'slow' });
    await edit(controller, eip('a', { v4ip: '203.0.113.50' }));
    assert.deepEqual(limits(controller, 'iptables-eip/a'), []);
  });

  test('of a VpcNatGateway comes after that of an address with the same number', async () => {
    const controller = await controllerOf([
      ...outside(),
      gateway('gw', { externalSubnets: ['external', 'second'], qosPolicy: 'all' }),
      policy('all', [{ ...rule, interface: 'net1' }], { bindingType: 'NATGW' }),
    ]);
    assert.deepEqual(limits(controller, 'nat-gateway/gw'), [
      '32764 to-lport outport == "external-blue" && ip 10000/8000',
      '32764 to-lport outport == "second-blue" && ip 10000/8000',
    ]);
    assert.equal(nameOf(controller, 'VpcNatGateway/gw'), 'all');
  });

  test('that is not shared is that of the object that had it, whichever is older', async () => {
    const controller = await controllerOf([
      ...outside(),
      gateway('gw'),
      eip('young', { qosPolicy: 'slow' }, 9),
      eip('old', {}, 2),
      policy('slow'),
    ]);
    await edit(controller, eip('old', { qosPolicy: 'slow' }, 2));
    assert.equal(nameOf(controller, 'IptablesEIP/young'), 'slow');
    assert.equal(nameOf(controller, 'IptablesEIP/old'), undefined);
    assert.match(validated(controller, 'IptablesEIP/old'), /^False QosPolicyInUse .*IptablesEIP young has it/);
    const again = await controllerOf(shuffled(storedIn(controller), 3));
    assert.deepEqual(again.writes, []);
    assert.equal(limits(again, 'iptables-eip/young').length, 1);
    assert.deepEqual(limits(again, 'iptables-eip/old'), []);
    again.remove('iptablesEips', 'young');
    await again.settle();
    assert.equal(nameOf(again, 'IptablesEIP/old'), 'slow');
  });

  test('at a port that two VpcNatGateways limit is that of the one that limits it already', async () => {
    const natgw = { bindingType: 'NATGW', shared: true };
    const controller = await controllerOf([
      ...outside(),
      gateway('young', { qosPolicy: 'b' }, 9),
      gateway('old', { externalSubnets: ['external', 'second'] }, 1),
      policy('a', [rule], natgw),
      policy('b', [rule], natgw),
    ]);
    await edit(controller, gateway('old', { externalSubnets: ['external', 'second'], qosPolicy: 'a' }, 1));
    assert.equal(limits(controller, 'nat-gateway/young').length, 1);
    assert.deepEqual(limits(controller, 'nat-gateway/old'), []);
    assert.match(
      validated(controller, 'VpcNatGateway/old'),
      /^False QosPolicyInUse .*VpcNatGateway young limits a port/,
    );
    await edit(controller, gateway('old', { externalSubnets: ['second'], qosPolicy: 'a' }, 1));
    assert.equal(limits(controller, 'nat-gateway/old').length, 1);
  });

  test('of the other binding type, or that is not there, limits nothing and says so', async () => {
    const controller = await controllerOf([
      ...outside(),
      gateway('gw', { qosPolicy: 'slow' }),
      eip('a', { qosPolicy: 'gone' }),
      policy('slow'),
    ]);
    assert.match(validated(controller, 'VpcNatGateway/gw'), /^False QosPolicyMismatch .*bindingType EIP/);
    assert.match(validated(controller, 'IptablesEIP/a'), /^False QosPolicyNotFound .*gone does not exist/);
    assert.equal(limits(controller, 'nat-gateway/gw').length + limits(controller, 'iptables-eip/a').length, 0);
    await edit(controller, policy('gone'));
    assert.equal(limits(controller, 'iptables-eip/a').length, 1);
    assert.match(validated(controller, 'IptablesEIP/a'), /^True/);
  });

  test('that is named cannot go, and names who does', async () => {
    const controller = await controllerOf([
      ...outside(),
      gateway('gw'),
      eip('a', { qosPolicy: 'slow' }),
      policy('slow'),
    ]);
    const { metadata } = controller.objects.get('QoSPolicy/slow') as unknown as { metadata: { finalizers?: string[] } };
    assert.deepEqual(metadata.finalizers, ['isthmus.network/controller']);
    const gone = { deletionTimestamp: '2026-01-09T00:00:00Z', finalizers: metadata.finalizers };
    await edit(controller, policy('slow', [rule], {}, gone));
    const { conditions = [] } = statusOf(controller, 'QoSPolicy/slow');
    assert.match(conditions.find(({ type }) => type === 'Ready')?.message ?? '', /do not name it: IptablesEIP a$/);
    assert.equal(limits(controller, 'iptables-eip/a').length, 1);
    await edit(controller, eip('a'));
    const after = controller.objects.get('QoSPolicy/slow') as unknown as
      | { metadata: { finalizers?: string[] } }
      | undefined;
    assert.deepEqual(after?.metadata.finalizers ?? [], []);
  });

  const bad: readonly (readonly [string, object, string])[] = [
    ['rate 0', { rateMax: '0' }, 'RateInvalid'],
    ['no rate', { rateMax: '' }, 'RateInvalid'],
    ['a rate with a unit', { rateMax: '10M' }, 'RateInvalid'],
    ['a rate beyond the column', { rateMax: '9999999' }, 'RateInvalid'],
    ['burst 0', { burstMax: '0.0' }, 'BurstInvalid'],
    ['a negative burst', { burstMax: '-1' }, 'BurstInvalid'],
    ['a burst beyond the column', { burstMax: '9999999' }, 'BurstInvalid'],
    ['a priority below 0', { priority: -1 }, 'PriorityInvalid'],
    ['a priority beyond those of OVN', { priority: 16_384 }, 'PriorityInvalid'],
    ['half a priority', { priority: 1.5 }, 'PriorityInvalid'],
    ['an unknown direction', { direction: 'both' }, 'DirectionInvalid'],
    ['no name', { name: '' }, 'DirectionInvalid'],
    ['an interface inside', { interface: 'eth0' }, 'InterfaceInvalid'],
    ['a match without its type', { matchValue: 'src 192.0.2.0/24' }, 'MatchInvalid'],
    ['a type without a match', { matchType: 'ip' }, 'MatchInvalid'],
    ['no network', { matchType: 'ip', matchValue: 'src here' }, 'MatchInvalid'],
    ['an address', { matchType: 'ip', matchValue: 'src 192.0.2.1' }, 'MatchInvalid'],
    ['a match of OVN', { matchType: 'ip', matchValue: 'src 0.0.0.0/0 || 1' }, 'MatchInvalid'],
    ['a match of OVN without spaces', { matchType: 'ip', matchValue: 'src 0.0.0.0/0||1' }, 'MatchInvalid'],
    ['another family', { matchType: 'ip', matchValue: 'src 2001:db8::/32' }, 'FamilyMismatch'],
  ];
  for (const [name, change, code] of bad)
    test(`with ${name} is refused, and limits nothing`, async () => {
      const objects = [gateway('gw'), eip('a', { qosPolicy: 'slow' }), policy('slow', [{ ...rule, ...change }])];
      const controller = await controllerOf([...outside(), ...objects]);
      assert.match(validated(controller, 'QoSPolicy/slow'), new RegExp(`^False ${code} rule `));
      assert.match(validated(controller, 'IptablesEIP/a'), /^False QosPolicyNotReady/);
      assert.deepEqual(limits(controller, 'iptables-eip/a'), []);
    });

  test('with two rules for the same packets is refused, unless their numbers differ', async () => {
    const part = { ...rule, name: 'part', matchType: 'ip', matchValue: 'src 192.0.2.0/24' };
    const controller = await controllerOf([
      ...outside(),
      gateway('gw'),
      eip('a', { qosPolicy: 'slow' }),
      policy('slow', [rule, part]),
    ]);
    assert.match(validated(controller, 'QoSPolicy/slow'), /^False RulesAmbiguous rules in and part/);
    await edit(controller, policy('slow', [rule, { ...part, priority: 0 }]));
    const [all = '', some = ''] = limits(controller, 'iptables-eip/a');
    assert.match(all, /^32765 /);
    assert.match(some, /^32767 to-lport .* && ip4.src == 192.0.2.0\/24 /);
    const other = { ...part, name: 'other', matchValue: 'src 198.51.100.7/24' };
    await edit(controller, policy('slow', [part, other]));
    assert.equal(limits(controller, 'iptables-eip/a').length, 2);
  });

  test('that is edited wrongly keeps its former limits, also over a restart', async () => {
    const controller = await controllerOf([
      ...outside(),
      gateway('gw'),
      eip('a', { qosPolicy: 'slow' }),
      policy('slow'),
    ]);
    const before = limits(controller, 'iptables-eip/a');
    await edit(controller, policy('slow', [{ ...rule, rateMax: 'much' }]));
    assert.deepEqual(limits(controller, 'iptables-eip/a'), before);
    assert.match(validated(controller, 'QoSPolicy/slow'), /^False RateInvalid .*the former rules stay in force/);
    assert.deepEqual(
      statusOf(controller, 'QoSPolicy/slow').bandwidthLimitRules?.map(({ name }) => name),
      ['in'],
    );
    const again = await controllerOf(storedIn(controller));
    assert.deepEqual(again.writes, []);
    assert.deepEqual(limits(again, 'iptables-eip/a'), before);
  });
});
