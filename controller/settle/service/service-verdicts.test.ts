import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { randomOf } from '../../../lib/testing-random.ts';
import { planKey } from '../../plan/plan.ts';
import { TestCluster } from '../../testing-cluster.ts';
import { planned } from '../../testing-reports.ts';
import { addressOf, endpointOf, placedNode, pod, service, slice, startedWithTwoVpcs } from '../../testing-services.ts';
import { created, subnet, vpc } from '../../testing-vpcs.ts';

const external = (...ips: readonly string[]): object => ({ clusterIPs: ['10.96.0.1'], externalIPs: ips });

const takenVips = (cluster: TestCluster, key: string): object | undefined =>
  cluster.serviceVerdicts.get(key)?.takenVips;

describe('the VPC of a Service', () => {
  test('is the one that it names, or that of its first endpoint, and follows its pods', () => {
    const cluster = startedWithTwoVpcs((one) => {
      pod(one, 'blue/a', 'n1');
      service(one, 'blue/web', { clusterIPs: ['10.96.0.1'] });
    });
    const vpcOf = (): string | undefined => cluster.serviceVerdicts.get('blue/web')?.vpc;
    assert.equal(vpcOf(), 'ovn-cluster', 'without endpoints');
    slice(cluster, 'blue/web-a', 'web', [endpointOf(addressOf(cluster, 'blue/a'), 'a')]);
    assert.ok(cluster.settle().has('service/blue/web'));
    assert.equal(vpcOf(), 'blue');
    slice(cluster, 'blue/web-a', 'web', [endpointOf('10.16.0.77', 'a')]);
    cluster.settle();
    assert.equal(vpcOf(), 'ovn-cluster', 'an address that the pod does not have says nothing');
    service(cluster, 'blue/web', { clusterIPs: ['10.96.0.1'] }, { annotations: { 'ovn.kubernetes.io/vpc': 'red' } });
    cluster.settle();
    assert.deepEqual([vpcOf(), cluster.serviceVerdicts.get('blue/web')?.hasVpc], ['red', false]);
    assert.deepEqual(planKey(cluster, 'service/blue/web').rows, []);
    vpc(cluster, 'red', {}, created(3));
    assert.ok(cluster.settle().has('service/blue/web'));
    assert.equal(planKey(cluster, 'service/blue/web').rows.length, 1);
  });

  test('has no endpoints of another VPC, even if one of its own pods has the same address', () => {
    const cluster = startedWithTwoVpcs((one) => {
      for (const key of ['blue/a', 'default/a']) pod(one, key, 'n1');
      service(one, 'default/web', { clusterIPs: ['10.96.0.1'] }, { annotations: { 'ovn.kubernetes.io/vpc': 'blue' } });
    });
    assert.equal(addressOf(cluster, 'blue/a'), addressOf(cluster, 'default/a'));
    slice(cluster, 'default/web-a', 'web', [endpointOf(addressOf(cluster, 'default/a'), 'a')]);
    cluster.settle();
    assert.deepEqual(planKey(cluster, 'service/default/web').rows[0]?.columns['vips'], { '10.96.0.1:80': '' });
    assert.match(planned(cluster, 'service/default/web'), /EndpointsInOtherVpcs.*are in Vpc ovn-cluster/);
  });
});

describe('nodes', () => {
  const elsewhere = (cluster: TestCluster, key: string): unknown =>
    /endpoints-elsewhere":("[^"]*"|null)/.exec(planned(cluster, `service/${key}`))?.[1];

  test('read from a Service that its endpoints are in another VPC, or which of them', () => {
    const cluster = startedWithTwoVpcs((one) => {
      for (const key of ['blue/a', 'default/a']) pod(one, key, 'n1');
      service(one, 'blue/web', { clusterIPs: ['10.96.0.1'] });
      service(one, 'blue/mine', { clusterIPs: ['10.96.0.2'] }, { annotations: { 'ovn.kubernetes.io/vpc': 'blue' } });
      const annotations = { 'ovn.kubernetes.io/vpc': 'ovn-cluster' };
      service(one, 'blue/cluster', { clusterIPs: ['10.96.0.3'] }, { annotations });
      service(one, 'default/web', { clusterIPs: ['10.96.0.4'] });
    });
    for (const key of ['blue/web', 'blue/mine', 'blue/cluster', 'default/web']) {
      const [namespace, name = ''] = key.split('/');
      slice(cluster, `${key}-a`, name, [endpointOf(addressOf(cluster, `${namespace}/a`), 'a')]);
    }
    cluster.settle();
    assert.equal(elsewhere(cluster, 'blue/web'), '"*"');
    assert.equal(elsewhere(cluster, 'blue/mine'), undefined);
    assert.equal(elsewhere(cluster, 'blue/cluster'), `"${addressOf(cluster, 'blue/a')}"`);
    assert.equal(elsewhere(cluster, 'default/web'), undefined);
    const stale = { annotations: { 'isthmus.network/endpoints-elsewhere': '*' } };
    service(cluster, 'default/web', { clusterIPs: ['10.96.0.4'] }, stale);
    cluster.settle();
    assert.equal(elsewhere(cluster, 'default/web'), 'null', 'what an author writes there goes');
  });
});

describe('an address that two Services want', () => {
  test('is the older one’s, and the other’s once it is released', () => {
    const cluster = startedWithTwoVpcs((one) => {
      service(one, 'default/b', external('198.51.100.7'), created(5));
      service(one, 'default/a', external('198.51.100.7', '198.51.100.8'), created(6));
    });
    assert.deepEqual(takenVips(cluster, 'default/a'), {
      'tcp 198.51.100.7:80': 'Service default/b',
      'tcp 10.96.0.1:80': 'Service default/b',
    });
    assert.deepEqual(takenVips(cluster, 'default/b'), {});
    service(cluster, 'default/b', undefined);
    assert.ok(cluster.settle().has('service/default/a'));
    assert.deepEqual(takenVips(cluster, 'default/a'), {});
  });

  test('is that of the Service whose ClusterIP it is, although an older one has it as an external IP', () => {
    const cluster = startedWithTwoVpcs((one) =>
      service(one, 'default/a', { ...external('10.96.0.9'), clusterIPs: ['10.96.0.8'] }, created(5)),
    );
    assert.deepEqual(takenVips(cluster, 'default/a'), {});
    service(cluster, 'default/b', { clusterIPs: ['10.96.0.9'] }, created(6));
    assert.ok(cluster.settle().has('service/default/a'));
    assert.deepEqual(takenVips(cluster, 'default/a'), { 'tcp 10.96.0.9:80': 'Service default/b' });
    assert.deepEqual(takenVips(cluster, 'default/b'), {});
  });

  test('is the older one’s also where only clients in its ranges may use it, which no row has', () => {
    const status = { loadBalancer: { ingress: [{ ip: '198.51.100.7' }] } };
    const ranged = { clusterIPs: ['10.96.0.8'], type: 'LoadBalancer', loadBalancerSourceRanges: ['203.0.113.0/24'] };
    const cluster = startedWithTwoVpcs((one) => {
      service(one, 'default/a', ranged, { ...created(5), status });
      service(one, 'default/b', external('198.51.100.7'), created(6));
    });
    assert.deepEqual(takenVips(cluster, 'default/b'), { 'tcp 198.51.100.7:80': 'Service default/a' });
    const vips = (key: string) => Object.keys(planKey(cluster, `service/${key}`).rows[0]?.columns['vips'] ?? {});
    assert.deepEqual([vips('default/a'), vips('default/b')], [['10.96.0.8:80'], ['10.96.0.1:80']]);
    service(cluster, 'default/b', external('198.51.100.7'), created(4));
    cluster.settle();
    assert.deepEqual(takenVips(cluster, 'default/a'), { 'tcp 198.51.100.7:80': 'Service default/b' });
    assert.deepEqual(vips('default/b'), ['10.96.0.1:80', '198.51.100.7:80']);
  });

  test('makes a few events, however many they are', () => {
    const ips = Array.from({ length: 200 }, (_, index) => `198.51.100.${index}`);
    const cluster = startedWithTwoVpcs((one) => {
      service(one, 'default/b', external(...ips), created(5));
      service(one, 'default/a', external(...ips), created(6));
    });
    const text = planned(cluster, 'service/default/a');
    assert.equal(text.match(/"type":"Warning"/g)?.length, 8);
    assert.match(text, /and 193 more problems/);
  });

  test('is that of the first by name where both are as old, whatever came first, as on nodes', () => {
    const cluster = startedWithTwoVpcs((one) => service(one, 'default/b', external('198.51.100.7'), created(5)));
    service(cluster, 'default/a', external('198.51.100.7'), created(5));
    assert.ok(cluster.settle().has('service/default/b'));
    const next = startedWithTwoVpcs((one) => {
      for (const key of ['default/b', 'default/a']) service(one, key, external('198.51.100.7'), created(5));
    });
    for (const one of [cluster, next]) {
      assert.deepEqual(takenVips(one, 'default/a'), {});
      assert.equal(Object.keys(takenVips(one, 'default/b') ?? {}).length, 2);
    }
  });

  test('is not contested between different VPCs, protocols or ports', () => {
    const cluster = startedWithTwoVpcs((one) => {
      service(one, 'default/a', external('198.51.100.7'), created(5));
      const ports = [
        { name: 'u', port: 80, protocol: 'UDP' },
        { name: 't', port: 81 },
      ];
      service(one, 'default/b', { ...external('198.51.100.7'), ports }, created(6));
      const annotations = { 'ovn.kubernetes.io/vpc': 'blue' };
      service(one, 'default/c', external('198.51.100.7'), { ...created(6), annotations });
    });
    for (const key of ['a', 'b', 'c']) assert.deepEqual(takenVips(cluster, `default/${key}`), {});
  });

  test('is not wanted where a Service has too many of them, with as many ports', () => {
    const ips = Array.from({ length: 101 }, (_, index) => `198.51.100.${index}`);
    const ports = Array.from({ length: 100 }, (_, index) => ({ name: `p${index}`, port: 1000 + index }));
    const cluster = startedWithTwoVpcs((one) => service(one, 'default/a', { ...external(...ips), ports }, created(5)));
    const [row] = planKey(cluster, 'service/default/a').rows;
    assert.equal(Object.keys(row?.columns['vips'] ?? {}).length, 100);
    assert.match(planned(cluster, 'service/default/a'), /TooManyExternalIPs.*101 spec\.externalIPs with 100 ports/);
  });

  test('is not wanted by a Service without a ClusterIP of its family', () => {
    const cluster = startedWithTwoVpcs((one) =>
      service(one, 'default/a', external('2001:db8::7', '198.51.100.7'), created(5)),
    );
    const vips = planKey(cluster, 'service/default/a').rows.flatMap(({ columns }) =>
      Object.keys(columns['vips'] ?? {}),
    );
    assert.deepEqual(vips, ['10.96.0.1:80', '198.51.100.7:80']);
  });

  test('is not wanted where externalIPs are denied', () => {
    const cluster = new TestCluster({ aclTier: false, ipv6Selection: false, loadBalancers: true, externalIps: false });
    service(cluster, 'default/a', external('198.51.100.7'), created(5));
    vpc(cluster, 'ovn-cluster', {}, created(1));
    cluster.restore(new Map());
    cluster.settle();
    assert.deepEqual(planKey(cluster, 'service/default/a').rows[0]?.columns['vips'], { '10.96.0.1:80': '' });
    assert.match(planned(cluster, 'service/default/a'), /ExternalIPsDenied.*services\.externalIPs=Allow/);
  });
});

test('after random changes of the objects that Services read, all affected plans were computed again', () => {
  const random = randomOf(20);
  const cluster = startedWithTwoVpcs(() => undefined);
  const last = new Map<string, string>();
  const keys = ['default/a', 'default/b', 'blue/c'];
  const pick = <T>(all: readonly T[]): T => all[random(all.length)] as T;
  const act = (): void => {
    const [key, index] = [pick(keys), random(4)];
    const [namespace = '', name = ''] = key.split('/');
    const kind = random(10);
    if (kind < 3) {
      const spec = {
        clusterIPs: [`10.96.0.${random(2)}`, ...(random(2) === 0 ? [`fd00:96::${random(2)}`] : [])],
        externalIPs: random(2) === 0 ? [] : ['198.51.100.7'],
        internalTrafficPolicy: random(3) === 0 ? 'Local' : 'Cluster',
      };
      const annotations = random(5) === 0 ? { 'ovn.kubernetes.io/vpc': pick(['blue', 'red']) } : {};
      service(cluster, key, random(4) === 0 ? undefined : spec, { ...created(1 + random(2)), annotations });
    } else if (kind < 6) {
      const endpoints = Array.from({ length: random(3) }, () => {
        const of = `p${random(4)}`;
        const more = random(2) === 0 ? {} : { hints: { forZones: [{ name: `z${random(2)}` }] } };
        return endpointOf(addressOf(cluster, `${namespace}/${of}`) || '10.16.0.9', of, `n${random(2)}`, more);
      });
      slice(cluster, `${key}-${random(2)}`, name, random(5) === 0 ? undefined : endpoints);
    } else if (kind < 8) pod(cluster, `${namespace}/p${index}`, random(3) === 0 ? undefined : `n${random(2)}`);
    else if (kind < 9) placedNode(cluster, `n${random(2)}`, `c${random(3)}`, `z${random(2)}`);
    else if (random(2) === 0) vpc(cluster, 'red', random(2) === 0 ? undefined : {}, created(3));
    else {
      const of = pick(['blue', 'ovn-cluster']);
      subnet(cluster, 'lake', { cidrBlock: '10.17.0.0/24', vpc: of, namespaces: ['blue'] }, created(3));
    }
  };
  for (let round = 0; round < 1500; round += 1) {
    act();
    for (const key of cluster.settle()) last.set(key, planned(cluster, key));
    for (const key of cluster.services.keys()) {
      const owner = `service/${key}`;
      assert.equal(planned(cluster, owner), last.get(owner), `${owner} in round ${round}`);
    }
  }
});
