import assert from 'node:assert/strict';
import { test } from 'node:test';
import { randomOf } from '../../../lib/testing-random.ts';
import type { Kinds } from '../../model/objects.ts';
import { TestCluster } from '../../testing-cluster.ts';
import { both, bridge, gateway, made, node, outside, type Made } from '../../testing-external.ts';
import { planned } from '../../testing-reports.ts';
import { kinds } from '../../watch/kinds.ts';
import { features } from '../features.ts';
import { planKey } from '../plan.ts';

function put(cluster: TestCluster, { kind, raw }: Made): void {
  const { name } = raw.metadata;
  const { resource, parse } = kinds[kind];
  const metadata = { uid: `uid-${name}`, resourceVersion: '1', generation: 1, ...raw.metadata };
  const { namespace = 'default' } = raw.metadata as { readonly namespace?: string };
  const whole = resource.namespaced ? { ...metadata, namespace } : metadata;
  const value: Kinds[typeof kind] = parse({ ...raw, metadata: whole });
  cluster.change(kind, resource.namespaced ? `${namespace}/${name}` : name, value);
}

test('after random changes every plan and status is current, and no two plans want one row', () => {
  const random = randomOf(11);
  const pick = <T>(...list: readonly T[]): T => list[random(list.length)] as T;
  const cluster = new TestCluster();
  for (const object of outside()) put(cluster, object);
  cluster.restore(new Map());
  const ovnEip = (): string => pick('e1', 'e2', 'e3', 'blue-external');
  const inside = (): object =>
    pick<object>(
      { ipName: pick('web.default', 'db.default') },
      { ipName: 'shared', ipType: 'vip' },
      { vpc: pick('blue', 'green', 'ovn-cluster'), v4Ip: pick('10.90.0.50', '10.91.0.50') },
    );
  const leaving = (): object => (random(5) === 0 ? { deletionTimestamp: '2026-01-09T00:00:00Z' } : {});
  const qosPolicy = (): string => pick('', 'q1', 'q2', 'q3');
  /** With what a status says of its limits. */
  const limited = ({ kind, raw }: Made): Made => ({ kind, raw: { ...raw, status: { qosPolicy: qosPolicy() } } });
  const route = { cidr: '0.0.0.0/0', nextHopIP: '203.0.113.9' };
  const toGateway = { cidr: '0.0.0.0/0', nextHopIP: '10.90.0.254' };
  const permits = { 'isthmus.network/eip-namespaces': 'other,default' };
  const config = { name: 'ovn-external-gw-config', namespace: 'kube-system' };
  const changes: readonly (() => Made)[] = [
    () => ({
      kind: 'externalConfigs',
      raw: {
        metadata: config,
        data: {
          'enable-external-gw': pick('true', 'false', 'no'),
          type: pick('', 'distributed'),
          'external-gw-nodes': pick('', 'n1', 'n1,n3'),
          'external-gw-addr': pick('', '203.0.113.1'),
          'nic-ip': pick('', '203.0.113.50/24'),
        },
      },
    }),
    () =>
      made(
        'vpcs',
        pick('blue', 'green', 'ovn-cluster'),
        {
          enableExternal: random(4) > 0,
          enableBfd: random(3) > 0,
          extraExternalSubnets: pick([], ['second'], ['inner'], ['second', 'gone']),
          staticRoutes: pick([], [], [route], [toGateway], [{ ...toGateway, cidr: '192.0.2.0/24' }]),
          policyRoutes: pick([], [{ priority: 1, match: 'ip4', action: 'reroute', nextHopIP: '10.90.0.254' }]),
        },
        random(3),
        leaving(),
      ),
    () =>
      made(
        'subnets',
        pick('external', 'second'),
        {
          ...pick<object>(
            { cidrBlock: '203.0.113.0/24', gateway: pick('', '203.0.113.254') },
            { cidrBlock: '198.51.100.0/24', gateway: pick('', '198.51.100.254') },
            { cidrBlock: '10.90.0.0/24' },
          ),
          vlan: pick('lan', 'dmz', 'dmz', ''),
          logicalGateway: random(5) === 0,
        },
        random(3),
        { ...leaving(), annotations: pick({}, permits, permits, { 'isthmus.network/eip-namespaces': '*' }) },
      ),
    () =>
      made(
        'subnets',
        'green-net',
        { vpc: 'green', cidrBlock: pick('10.91.0.0/24', '198.51.100.0/25'), routeTable: pick('', 't') },
        1,
        leaving(),
      ),
    () =>
      node(
        pick('n1', 'n2', 'n3'),
        pick<Readonly<Record<string, string>>>(both, both, { [bridge]: 'true' }, { [gateway]: 'true' }),
      ),
    () =>
      made(
        'ovnEips',
        ovnEip(),
        {
          externalSubnet: pick('', 'external', 'second'),
          v4Ip: pick('', '203.0.113.50'),
          type: pick('', 'nat', 'lrp', 'lsp'),
        },
        random(3),
        leaving(),
      ),
    () =>
      made('ovnFips', pick('f1', 'f2'), { ovnEip: ovnEip(), ...inside(), type: pick('', 'distributed') }, random(3)),
    () =>
      made(
        'ovnSnatRules',
        pick('s1', 's2'),
        {
          ovnEip: ovnEip(),
          ...pick<object>(
            { vpcSubnet: pick('inner', 'green-net', 'second') },
            { vpc: pick('blue', 'green'), v4IpCidr: pick('10.90.0.0/25', '10.90.0.50') },
          ),
        },
        random(3),
      ),
    () =>
      made(
        'ovnDnatRules',
        pick('d1', 'd2'),
        {
          ovnEip: ovnEip(),
          ...inside(),
          externalPort: pick('80', '81'),
          internalPort: '80',
          protocol: pick('tcp', 'udp'),
        },
        random(3),
        pick({}, { annotations: { 'ovn.kubernetes.io/vpc_eip': 'e1' } }),
      ),
    () =>
      made(
        'routerLbRules',
        pick('l1', 'l2'),
        {
          ovnEip: ovnEip(),
          vpc: pick('blue', 'green'),
          endpoints: pick(['10.90.0.50'], ['10.90.0.51', '10.90.0.52'], []),
          ports: [{ port: pick(80, 81, 443), protocol: pick('TCP', 'UDP'), targetPort: pick(80, 8080) }],
        },
        random(3),
        leaving(),
      ),
    () =>
      made(
        'qosPolicies',
        pick('q1', 'q2'),
        {
          bindingType: pick('EIP', 'NATGW'),
          shared: random(2) === 0,
          bandwidthLimitRules: [{ name: 'in', direction: 'ingress', rateMax: pick('10', '20', 'none') }],
        },
        random(3),
        leaving(),
      ),
    () =>
      limited(
        made(
          'vpcNatGateways',
          pick('g1', 'g2'),
          {
            qosPolicy: qosPolicy(),
            vpc: pick('blue', 'green', 'gone', ''),
            externalSubnets: pick(['external'], ['second'], ['second', 'external'], ['gone']),
            subnet: pick('inner', 'green-net', ''),
            lanIp: pick('', '10.90.0.254', '10.90.0.253'),
            selector: pick([], [], ['zone: a']),
          },
          random(3),
          leaving(),
        ),
      ),
    () =>
      made(
        'vpcEgressGateways',
        pick('g1', 'g2'),
        {
          vpc: pick('', 'blue', 'green'),
          externalSubnet: pick('external', 'external', 'second', 'gone'),
          replicas: pick(1, 2, 3),
          bfd: { enabled: random(2) === 0 },
          image: pick('', '', '', 'a'),
          externalIPs: pick([], [], ['203.0.113.60', '203.0.113.61', '203.0.113.62']),
          podAntiAffinity: pick('Required', 'Preferred'),
          selectors: pick(
            [],
            [{ podSelector: { matchLabels: { app: 'web' } } }],
            [{ namespaceSelector: { matchLabels: { team: 'a' } } }],
          ),
          policies: pick([], [{ snat: true, subnets: [pick('inner', 'green-net')] }], [{ ipBlocks: ['10.90.0.0/28'] }]),
          nodeSelector: pick([], [], [{ matchFields: [{ key: 'metadata.name', operator: 'In', values: ['n1'] }] }]),
        },
        random(3),
        leaving(),
      ),
    () =>
      limited(
        made(
          'iptablesEips',
          pick('e1', 'e2'),
          {
            qosPolicy: qosPolicy(),
            natGwDp: pick('g1', 'g2', 'g3'),
            externalSubnet: pick('external', 'second', ''),
            v4ip: pick('', '203.0.113.50'),
          },
          random(3),
          leaving(),
        ),
      ),
    () =>
      made('iptablesFips', pick('f1', 'f2'), { eip: pick('e1', 'e2'), internalIp: pick('10.90.0.50', '') }, random(3)),
    () =>
      made(
        'iptablesSnats',
        's1',
        { eip: pick('e1', 'e2'), internalCIDR: pick('10.90.0.0/25', '10.90.0.50') },
        random(3),
      ),
    () =>
      made(
        'iptablesDnats',
        pick('d1', 'd2'),
        {
          eip: pick('e1', 'e2'),
          externalPort: '80',
          internalPort: pick('80', '81'),
          internalIp: pick('10.90.0.50', '10.90.0.51'),
          protocol: pick('tcp', 'udp'),
          type: pick('share', 'share', 'exclusive'),
        },
        random(3),
      ),
    () => made('namespaces', 'default', {}, 0, { labels: pick({}, { team: 'a' }) }),
    () => made('vips', 'shared', { subnet: 'inner' }, 1),
    () => {
      const address = (): string => pick('203.0.113.50', '203.0.113.77', '203.0.113.254', '198.51.100.7', 'none');
      const annotations = {
        ...pick<object>({}, { 'ovn.kubernetes.io/logical_switch': 'ovn-default' }),
        ...pick<object>({}, { 'ovn.kubernetes.io/eip': address() }),
        ...pick<object>({}, {}, { 'ovn.kubernetes.io/snat': address() }),
      };
      const more = { labels: pick({}, { app: 'web' }), annotations };
      const { kind, raw } = made('pods', pick('web', 'db', 'job'), {}, random(3), more);
      const nodeName = pick('n1', 'n3', 'n9');
      const has = pick([], [{ type: 'isthmus.network/Eip', status: 'True', message: '203.0.113.50' }]);
      const status = { phase: pick('Running', 'Running', 'Failed'), conditions: has };
      return { kind, raw: { ...raw, spec: { nodeName }, status } };
    },
    () => {
      const name = pick('web', 'db');
      const { kind, raw } = made('ips', `${name}.default`, {}, 1);
      const labels = { 'ovn.kubernetes.io/subnet': 'inner' };
      const spec = { podName: name, namespace: 'default', subnet: 'inner', ipAddress: '', macAddress: '' };
      return { kind, raw: { metadata: { ...raw.metadata, labels }, spec } };
    },
  ];
  const last = new Map<string, string>();
  for (let round = 0; round < 700; round += 1) {
    const { kind, raw } = pick(...changes)();
    const key = kinds[kind].resource.namespaced ? `default/${raw.metadata.name}` : raw.metadata.name;
    if (random(4) === 0) {
      const holder = {
        chassis: pick('chassis-1', 'chassis-2', 'chassis-3', 'chassis-9'),
        since: '2026-01-01T00:00:00Z',
      };
      const names = ['blue-external', 'blue-second', 'ovn-cluster-external'].filter(() => random(2) === 0);
      cluster.setGatewayHolders(new Map(names.map((name) => [name, holder])));
    }
    if (random(4) === 0) {
      const names = ['blue-external/203.0.113.1', 'blue-second/198.51.100.1', 'green-external/203.0.113.1'];
      const known = names.filter(() => random(3) > 0);
      cluster.setUpstreams(new Map(known.map((name) => [name, pick('up', 'down')])));
    }
    if (random(5) === 0) cluster.change(kind, key, undefined);
    else put(cluster, { kind, raw });
    if (random(3) === 0) continue;
    for (const dirty of cluster.settle()) last.set(dirty, planned(cluster, dirty));
    for (const [name, text] of last) assert.equal(planned(cluster, name), text, `${name} in round ${round}`);
    for (const feature of features)
      for (const id of feature.all(cluster))
        if (planKey(cluster, `${feature.name}/${id}`).rows.length > 0)
          assert.ok(last.has(`${feature.name}/${id}`), `${feature.name}/${id} was never planned, in round ${round}`);
    const rows = [...last.keys()].flatMap((name) =>
      planKey(cluster, name).rows.map((row) => `${row.table} ${row.key}`),
    );
    assert.equal(new Set(rows).size, rows.length, `two plans want one row in round ${round}`);
  }
});
