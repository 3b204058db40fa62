import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { randomOf } from '../../../lib/testing-random.ts';
import { planKey, reportKey } from '../../plan/plan.ts';
import type { TestCluster } from '../../testing-cluster.ts';
import { allApplied, planned } from '../../testing-reports.ts';
import {
  addressOf,
  endpointOf,
  pod,
  rule,
  service,
  slice,
  startedWithTwoVpcs,
  twoVpcs,
} from '../../testing-services.ts';
import { created, meta, subnet, vpc } from '../../testing-vpcs.ts';
import { parseIp as ip } from '../../../lib/net/ip.ts';
import { parseIp, parseLoadBalancerPool, parseVip } from '../../watch/addresses.ts';
import { parseNode, parseNamespace } from '../../watch/workloads.ts';
import type { SwitchLbRule } from '../../model/objects.ts';
import { ruleServiceKey } from '../../../lib/services/switch-lb-rule.ts';
import { frontendOf, servingRuleAt } from './frontends.ts';
import { placeOfRule } from './rule-place.ts';

function vip(cluster: TestCluster, name: string, v4ip: string | undefined, type = 'switch_lb_vip'): void {
  const spec = { subnet: 'ovn-default', v4ip, type };
  cluster.change('vips', name, v4ip === undefined ? undefined : parseVip({ metadata: meta(name, created(3)), spec }));
}

const readyOf = (cluster: TestCluster, name: string): string => {
  const [report] = reportKey(cluster, `switch-lb-rule/${name}`, allApplied);
  const ready = report?.status?.conditions.find(({ type }) => type === 'Ready');
  return `${ready?.reason}: ${ready?.message}`;
};
const balancerOf = (cluster: TestCluster, name: string) =>
  planKey(cluster, `switch-lb-rule/${name}`).rows.find(({ table }) => table === 'Load_Balancer')?.columns;
const sourceIn = (cluster: TestCluster, of: string): string | undefined =>
  cluster.ports(`health-check/${of}`)[0]?.allocation.v4;
const fieldsOf = (cluster: TestCluster, name: string) =>
  reportKey(cluster, `switch-lb-rule/${name}`, allApplied)[0]?.status?.fields ?? {};

/** Writes the slice of a rule with one pod. */
function backed(cluster: TestCluster, name: string, by: string, namespace = 'default'): void {
  pod(cluster, `${namespace}/${by}`, 'n1');
  cluster.settle();
  slice(cluster, `${namespace}/slr-${name}-a`, `slr-${name}`, [
    endpointOf(addressOf(cluster, `${namespace}/${by}`), by),
  ]);
  cluster.settle();
}

describe('the virtual address of a SwitchLBRule', () => {
  test('is the older object’s, be it a rule or a Service, also over a restart', () => {
    const external = { clusterIPs: ['10.96.0.1'], externalIPs: ['198.51.100.7'] };
    const fill = (cluster: TestCluster): void => {
      service(cluster, 'default/young', external, created(6));
      rule(cluster, 'middle', { vip: '198.51.100.7' }, created(5));
      rule(cluster, 'late', { vip: '198.51.100.7' }, created(7));
    };
    const cluster = startedWithTwoVpcs(fill);
    assert.match(
      readyOf(cluster, 'late'),
      /^AddressInUse: tcp 198\.51\.100\.7:80 is a virtual address of SwitchLBRule middle/,
    );
    assert.match(planned(cluster, 'service/default/young'), /AddressInUse.*of SwitchLBRule middle in Vpc ovn-cluster/);
    rule(cluster, 'middle', undefined);
    const dirty = cluster.settle();
    for (const key of ['service/default/young', 'switch-lb-rule/late']) assert.ok(dirty.has(key), key);
    assert.match(readyOf(cluster, 'late'), /is a virtual address of Service default\/young/);
    service(cluster, 'default/young', undefined);
    cluster.settle();
    assert.match(readyOf(cluster, 'late'), /^RuleReady/);
  });

  test('is that of the first by name where both are as old', () => {
    const cluster = startedWithTwoVpcs((one) => rule(one, 'b', { vip: '1.1.1.1' }, created(5)));
    rule(cluster, 'a', { vip: '1.1.1.1' }, created(5));
    cluster.settle();
    assert.match(readyOf(cluster, 'b'), /^AddressInUse.*SwitchLBRule a/);
    assert.match(readyOf(cluster, 'a'), /^RuleReady/);
  });

  test('in a Subnet needs a Vip, which no pod can have', () => {
    const cluster = startedWithTwoVpcs((one) => rule(one, 'web', { vip: '10.16.0.9' }, created(5)));
    assert.match(
      readyOf(cluster, 'web'),
      /^AddressNotReserved: .*create a Vip with this address, spec\.subnet ovn-default/,
    );
    assert.equal(balancerOf(cluster, 'web'), undefined);
    vip(cluster, 'v', '10.16.0.9');
    assert.ok(cluster.settle().has('switch-lb-rule/web'));
    assert.match(readyOf(cluster, 'web'), /^RuleReady/);
    vip(cluster, 'v', '10.16.0.9', '');
    cluster.settle();
    assert.match(readyOf(cluster, 'web'), /^AddressInUse: .*Vip v, whose type is not switch_lb_vip/);
    vip(cluster, 'v', undefined);
    assert.ok(cluster.settle().has('switch-lb-rule/web'));
    assert.match(readyOf(cluster, 'web'), /^AddressNotReserved/);
  });

  test('is that of a pod only as long as the pod has it', () => {
    const cluster = startedWithTwoVpcs((one) => pod(one, 'default/a', 'n1'));
    rule(cluster, 'web', { vip: addressOf(cluster, 'default/a') }, created(5));
    cluster.settle();
    assert.match(readyOf(cluster, 'web'), /^AddressInUse: .*port a\.default in Subnet ovn-default/);
    pod(cluster, 'default/a', undefined);
    assert.ok(cluster.settle().has('switch-lb-rule/web'));
    assert.match(readyOf(cluster, 'web'), /^AddressNotReserved/);
  });

  test('is not one of an older LoadBalancerPool in force', () => {
    const cluster = startedWithTwoVpcs((one) => {
      for (const [name, day] of [
        ['before', 2],
        ['after', 5],
      ] as const)
        rule(one, name, { vip: `198.51.100.${day}` }, created(day));
    });
    const pool = (status: string): void => {
      const conditions = [{ type: 'Validated', status, observedGeneration: 1 }];
      const raw = {
        metadata: meta('public', created(4)),
        spec: { addresses: ['198.51.100.0/28'] },
        status: { conditions },
      };
      cluster.change('loadBalancerPools', 'public', parseLoadBalancerPool(raw));
      cluster.settle();
    };
    pool('False');
    assert.match(readyOf(cluster, 'after'), /^RuleReady/);
    pool('True');
    assert.match(readyOf(cluster, 'before'), /^RuleReady/);
    assert.match(
      readyOf(cluster, 'after'),
      /^AddressInUse: .*LoadBalancerPool public, from which Services get addresses/,
    );
    cluster.change('loadBalancerPools', 'public', undefined);
    assert.ok(cluster.settle().has('switch-lb-rule/after'));
    assert.match(readyOf(cluster, 'after'), /^RuleReady/);
  });

  test('stays served when a Subnet comes that contains it', () => {
    const cluster = startedWithTwoVpcs((one) => rule(one, 'web', { vip: '10.99.0.9' }, created(5)));
    subnet(cluster, 'new', { cidrBlock: '10.99.0.0/24' }, created(6));
    cluster.settle();
    assert.match(readyOf(cluster, 'web'), /^RuleReady/);
    rule(cluster, 'late', { vip: '10.99.0.10' }, created(7));
    cluster.settle();
    assert.match(readyOf(cluster, 'late'), /^AddressNotReserved/);
  });

  for (const [address, owner] of [
    ['172.30.1.11', /Node n1/],
    ['100.64.0.7', /Subnet join, which is for nodes/],
    ['10.16.0.1', /Subnet ovn-default: its gateway/],
    ['169.254.169.5', /for connections of a pod to itself/],
    ['127.0.0.1', /for loopback/],
  ] as const)
    test(`is not ${address}`, () => {
      const cluster = startedWithTwoVpcs((one) => {
        const status = { addresses: [{ type: 'InternalIP', address: '172.30.1.11' }] };
        one.change('nodes', 'n1', parseNode({ metadata: meta('n1', created(1)), status }));
        rule(one, 'web', { vip: address }, created(5));
      });
      assert.match(readyOf(cluster, 'web'), owner);
      assert.equal(balancerOf(cluster, 'web'), undefined);
    });
});

describe('the VPC of a SwitchLBRule', () => {
  test('is that of its backends, else that of its namespace, else the one it names', () => {
    const cluster = startedWithTwoVpcs((one) => rule(one, 'web', { vip: '1.1.1.1', namespace: 'blue' }, created(5)));
    const vpcOf = (): string | undefined => cluster.serviceVerdicts.get('blue/slr-web')?.vpc;
    assert.equal(vpcOf(), 'blue', 'without backends');
    backed(cluster, 'web', 'a', 'blue');
    assert.equal(vpcOf(), 'blue');
    const annotations = { 'ovn.kubernetes.io/logical_router': 'ovn-cluster' };
    rule(cluster, 'web', { vip: '1.1.1.1', namespace: 'blue' }, { ...created(5), annotations });
    cluster.settle();
    assert.equal(vpcOf(), 'ovn-cluster');
    assert.match(
      readyOf(cluster, 'web'),
      /^EndpointsInOtherVpcs: endpoints are in Vpc blue, and the rule is in Vpc ovn-cluster/,
    );
  });
});

describe('health checks', () => {
  test('come from an address of the subnet that no pod gets, and is released with the last backend', () => {
    const cluster = startedWithTwoVpcs((one) => rule(one, 'web', { vip: '1.1.1.1' }, created(5)));
    assert.equal(sourceIn(cluster, 'ovn-default'), undefined);
    backed(cluster, 'web', 'a');
    const source = sourceIn(cluster, 'ovn-default');
    assert.ok(source);
    const address = addressOf(cluster, 'default/a');
    assert.deepEqual(balancerOf(cluster, 'web')?.['ip_port_mappings'], { [address]: `a.default:${source}` });
    for (const name of ['b', 'c', 'd']) pod(cluster, `default/${name}`, 'n1');
    cluster.settle();
    for (const name of ['b', 'c', 'd']) assert.notEqual(addressOf(cluster, `default/${name}`), source);
    rule(cluster, 'other', { vip: '1.1.1.2', endpoints: [address] }, created(6));
    cluster.settle();
    assert.deepEqual(balancerOf(cluster, 'other')?.['ip_port_mappings'], { [address]: `a.default:${source}` });
    rule(cluster, 'web', undefined);
    cluster.settle();
    assert.equal(sourceIn(cluster, 'ovn-default'), source);
    pod(cluster, 'default/a', undefined);
    assert.ok(cluster.settle().has('switch-lb-rule/other'));
    assert.deepEqual(balancerOf(cluster, 'other')?.['ip_port_mappings'], {});
    assert.equal(sourceIn(cluster, 'ovn-default'), undefined);
  });

  test('are of both families where the subnet has both, also one that had a source before it gained IPv6', () => {
    const cluster = startedWithTwoVpcs((one) => rule(one, 'web', { vip: '1.1.1.1,fd99::1' }, created(5)));
    backed(cluster, 'web', 'a');
    subnet(cluster, 'ovn-default', { cidrBlock: '10.16.0.0/16,fd00:10::/112' }, created(1));
    assert.ok(cluster.settle().has('switch-lb-rule/web'));
    pod(cluster, 'default/b', 'n1');
    cluster.settle();
    const six = addressOf(cluster, 'default/b', 6);
    const more = { addressType: 'IPv6' };
    slice(cluster, 'default/slr-web-b', 'slr-web', [endpointOf(six, 'b')], more);
    assert.ok(cluster.settle().has('switch-lb-rule/web'));
    const { v4, v6 } = cluster.ports('health-check/ovn-default')[0]?.allocation ?? {};
    const rows = planKey(cluster, 'switch-lb-rule/web').rows;
    assert.deepEqual(
      rows.filter(({ table }) => table === 'Load_Balancer').map(({ columns }) => columns['ip_port_mappings']),
      [{ [addressOf(cluster, 'default/a')]: `a.default:${v4}` }, { [`[${six}]`]: `b.default:[${v6}]` }],
    );
    const checks = rows.filter(({ table }) => table === 'Load_Balancer_Health_Check');
    assert.deepEqual(
      checks.map(({ columns }) => columns['vip']),
      ['1.1.1.1:80', '[fd99::1]:80'],
    );
    cluster.setMonitors(new Map([[`b.default tcp [${six}]:8080`, 'offline']]));
    cluster.settle();
    assert.match(
      planned(cluster, 'switch-lb-rule/web'),
      /1 of 2 backends do not answer and get no connections: TCP \[fd00:10::\w+\]:8080 \(pod default\/b\)/,
    );
  });

  test('of backends that OVN cannot check are missing with a reason, and the backends are served', () => {
    const cluster = startedWithTwoVpcs((one) => {
      pod(one, 'default/a', 'n1');
      const ports = [
        { name: 'web', port: 80, targetPort: 8080 },
        { name: 'call', port: 90, targetPort: 9090, protocol: 'SCTP' },
      ];
      rule(one, 'web', { vip: '1.1.1.1', endpoints: ['10.16.0.2', '192.0.2.9'], ports }, created(5));
    });
    const address = addressOf(cluster, 'default/a');
    assert.equal(address, '10.16.0.2');
    cluster.setMonitors(new Map([[`a.default tcp ${address}:8080`, 'online']]));
    cluster.settle();
    const { rows } = planKey(cluster, 'switch-lb-rule/web');
    assert.deepEqual(
      rows.flatMap(({ table, columns }) =>
        table === 'Load_Balancer' ? [[columns['protocol'], columns['vips'], columns['ip_port_mappings']]] : [],
      ),
      [
        [
          'tcp',
          { '1.1.1.1:80': '10.16.0.2:8080,192.0.2.9:8080' },
          { [address]: `a.default:${sourceIn(cluster, 'ovn-default')}` },
        ],
        ['sctp', { '1.1.1.1:90': '10.16.0.2:9090,192.0.2.9:9090' }, {}],
      ],
    );
    assert.deepEqual(
      rows.flatMap(({ table, key }) => (table === 'Load_Balancer_Health_Check' ? [key] : [])),
      ['default/slr-web/tcp/ipv4/1.1.1.1:80'],
    );
    const { backends } = fieldsOf(cluster, 'web') as { backends: { state: string; reason?: string }[] };
    assert.deepEqual(
      backends.map(({ state, reason }) => [state, reason]),
      [
        ['Online', undefined],
        ['Unchecked', 'NotAPod'],
        ['Unchecked', 'SctpNotChecked'],
        ['Unchecked', 'SctpNotChecked'],
      ],
    );
    assert.match(
      planned(cluster, 'switch-lb-rule/web'),
      /OVN does not check 3 of 4 backends, which get connections in any case: OVN cannot check over SCTP \(2\), no pod of the Vpc has the address \(1\)/,
    );
  });

  test('have the same source after a restart, whatever pods were created meanwhile', () => {
    const fill = (one: TestCluster): void => {
      rule(one, 'web', { vip: '1.1.1.1' }, created(5));
      pod(one, 'default/a', 'n1');
      const object = reportKey(first, 'health-check/ovn-default', allApplied).find(
        ({ presence }) => presence === 'required',
      );
      assert.ok(object);
      const metadata = meta(object.object.name, { labels: object.labels });
      one.change('ips', object.object.name, parseIp({ metadata, spec: { ...object.spec } }));
      const address = addressOf(first, 'default/a');
      slice(one, 'default/slr-web-a', 'slr-web', [endpointOf(address, 'a')]);
    };
    const first = startedWithTwoVpcs((one) => rule(one, 'web', { vip: '1.1.1.1' }, created(5)));
    for (const name of ['x', 'y']) pod(first, `default/${name}`, 'n1');
    backed(first, 'web', 'a');
    const source = sourceIn(first, 'ovn-default');
    for (const name of ['x', 'y']) pod(first, `default/${name}`, undefined);
    first.settle();
    const again = twoVpcs();
    fill(again);
    const held = addressOf(first, 'default/a');
    again.restore(
      new Map([['a.default', { subnet: 'ovn-default', addresses: [held].flatMap((text) => ip(text) ?? []) }]]),
    );
    again.settle();
    assert.equal(sourceIn(again, 'ovn-default'), source);
    assert.deepEqual(balancerOf(again, 'web'), balancerOf(first, 'web'));
    // Without the rule the address on record is released.
    const without = twoVpcs();
    fill(without);
    rule(without, 'web', undefined);
    without.restore(new Map());
    without.settle();
    assert.equal(sourceIn(without, 'ovn-default'), undefined);
  });

  test('are reported for each backend, and a changed one concerns its rule alone', () => {
    const cluster = startedWithTwoVpcs((one) => {
      for (const [name, vip4] of [
        ['web', '1.1.1.1'],
        ['other', '1.1.1.2'],
      ] as const)
        rule(one, name, { vip: vip4 }, created(5));
    });
    backed(cluster, 'web', 'a');
    backed(cluster, 'other', 'b');
    assert.equal('backends' in fieldsOf(cluster, 'web'), false, 'while the southbound database is not known');
    cluster.setMonitors(new Map());
    assert.deepEqual([...cluster.settle()].sort(), ['switch-lb-rule/other', 'switch-lb-rule/web']);
    assert.match(planned(cluster, 'switch-lb-rule/web'), /"state":"Pending"/);
    const [a, b] = [addressOf(cluster, 'default/a'), addressOf(cluster, 'default/b')];
    const states = (of: string): ReadonlyMap<string, string> =>
      new Map([
        [`a.default tcp ${a}:8080`, of],
        [`b.default tcp ${b}:8080`, 'online'],
      ]);
    cluster.setMonitors(states('online'));
    cluster.settle();
    assert.deepEqual(fieldsOf(cluster, 'web')['backends'], [
      { address: a, port: 8080, protocol: 'TCP', pod: 'default/a', state: 'Online' },
    ]);
    cluster.setMonitors(states('offline'));
    assert.deepEqual([...cluster.settle()], ['switch-lb-rule/web']);
    const { total, online } = fieldsOf(cluster, 'web');
    assert.deepEqual([total, online], [1, 0]);
    assert.match(
      planned(cluster, 'switch-lb-rule/web'),
      /BackendsOffline.*1 of 1 backends do not answer.*pod default\/a/,
    );
    cluster.setMonitors(states('offline'));
    assert.equal(cluster.settle().size, 0);
  });

  test('end where the rule has none, and where the subnet has no free address the rule says so', () => {
    const annotations = { 'ovn.kubernetes.io/service_health_check': 'false' };
    const cluster = startedWithTwoVpcs((one) => {
      subnet(one, 'small', { cidrBlock: '10.18.0.0/30', namespaces: ['tight'] }, created(2));
      one.change('namespaces', 'tight', parseNamespace({ metadata: meta('tight', created(1)) }));
      rule(one, 'off', { vip: '1.1.1.1' }, { ...created(5), annotations });
      rule(one, 'tight', { vip: '1.1.1.2', namespace: 'tight' }, created(5));
    });
    cluster.setMonitors(new Map());
    backed(cluster, 'off', 'a');
    backed(cluster, 'tight', 't', 'tight');
    assert.deepEqual(balancerOf(cluster, 'off')?.['ip_port_mappings'], {});
    assert.match(planned(cluster, 'switch-lb-rule/off'), /OVN does not check 1 of 1 backends/);
    assert.deepEqual(balancerOf(cluster, 'tight')?.['ip_port_mappings'], {});
    assert.match(
      planned(cluster, 'switch-lb-rule/tight'),
      /no source for health checks: subnet small has no free IPv4 address/,
    );
  });
});

/** The verdict is what it would be if it were decided now. */
function assertSettled(cluster: TestCluster, one: SwitchLbRule, round: number): void {
  const key = ruleServiceKey(one);
  if (servingRuleAt(cluster, key) === undefined) return;
  const frontend = frontendOf(cluster, key);
  assert.ok(frontend);
  const { takenVips: _, ...verdict } = cluster.serviceVerdicts.get(key) ?? { takenVips: {} };
  assert.deepEqual(verdict, placeOfRule(cluster, one, frontend).place, `${key} in round ${round}`);
}

test('after random changes of what SwitchLBRules read, none was left as it was', () => {
  const random = randomOf(41);
  const dual = { cidrBlock: '10.16.0.0/16,fd00:10::/112' };
  const cluster = startedWithTwoVpcs((one) => subnet(one, 'ovn-default', dual, created(1)));
  cluster.setMonitors(new Map());
  const last = new Map<string, string>();
  const pick = <T>(all: readonly T[]): T => all[random(all.length)] as T;
  const names = ['a', 'b', 'c'];
  const lakes = [{}, { namespaces: ['default', 'absent'] }, { namespaceSelectors: [{ matchLabels: { lake: 'yes' } }] }];
  const addresses = ['1.1.1.1', '1.1.1.1,fd99::1', '10.16.0.9', '10.16.0.3', '10.17.0.5', 'fd00::1', '100.64.0.2'];
  const act = (): void => {
    const [name, namespace, index] = [pick(names), pick(['default', 'blue', 'absent']), random(4)];
    const kind = random(12);
    if (kind < 3) {
      const more = random(3) === 0 ? { endpoints: [pick(['10.16.0.2', '10.16.0.3', '192.0.2.1', 'fd00:10::2'])] } : {};
      const annotations = random(5) === 0 ? { 'ovn.kubernetes.io/vpc': pick(['blue', 'red']) } : {};
      const spec = random(5) === 0 ? undefined : { vip: pick(addresses), namespace, ...more };
      rule(cluster, name, spec, { ...created(1 + random(4)), annotations });
    } else if (kind < 5) {
      const family = pick([4, 6] as const);
      const endpoints = Array.from({ length: random(3) }, () => {
        const of = `p${random(4)}`;
        return endpointOf(
          addressOf(cluster, `${namespace}/${of}`, family) || (family === 4 ? '10.16.0.9' : 'fd00:10::9'),
          of,
        );
      });
      const all = random(5) === 0 ? undefined : endpoints;
      slice(cluster, `${namespace}/slr-${name}-${family}`, `slr-${name}`, all, { addressType: `IPv${family}` });
    } else if (kind < 7) pod(cluster, `${namespace}/p${index}`, random(3) === 0 ? undefined : 'n1');
    else if (kind < 8)
      vip(
        cluster,
        `v${random(2)}`,
        random(3) === 0 ? undefined : pick(addresses.slice(2, 4)),
        pick(['', 'switch_lb_vip']),
      );
    else if (kind < 9) {
      const labels = { 'isthmus.network/switch-lb-rule': name };
      const spec = pick([undefined, { clusterIPs: ['None'] }, { clusterIPs: ['10.96.0.5'], externalIPs: ['1.1.1.1'] }]);
      service(cluster, `${namespace}/slr-${name}`, spec, { ...created(2), labels });
    } else if (kind < 10) {
      const isThere = random(2) === 0;
      cluster.change(
        'namespaces',
        'absent',
        isThere ? parseNamespace({ metadata: meta('absent', { labels: { lake: pick(['yes', 'no']) } }) }) : undefined,
      );
    } else if (kind < 11) {
      const state = pick(['online', 'offline', '']);
      cluster.setMonitors(
        new Map(names.map((one) => [`p${random(4)}.default tcp 10.16.0.${2 + index}:8080`, `${state}${one.slice(1)}`])),
      );
    } else if (random(2) === 0) vpc(cluster, 'red', random(2) === 0 ? undefined : {}, created(3));
    else
      subnet(
        cluster,
        'lake',
        random(2) === 0 ? undefined : { cidrBlock: '10.17.0.0/24', vpc: pick(['blue', 'ovn-cluster']), ...pick(lakes) },
        created(3),
      );
  };
  for (let round = 0; round < 2000; round += 1) {
    act();
    for (const key of cluster.settle()) last.set(key, planned(cluster, key));
    for (const one of cluster.switchLbRules.values()) assertSettled(cluster, one, round);
    const keys = [
      ...names.map((name) => `switch-lb-rule/${name}`),
      ...[...cluster.services.keys()].map((key) => `service/${key}`),
    ];
    for (const key of keys)
      assert.equal(planned(cluster, key), last.get(key) ?? planned(twoVpcs(), key), `${key} in round ${round}`);
  }
});
