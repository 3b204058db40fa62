import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parseEndpointSlice, parseService } from '../../../lib/services/parse.ts';
import { disjoint, planService, rightsOf } from './frontends.ts';

type Endpoint = readonly [address: string, node: string, state?: object];

const ports = [{ port: 80, nodePort: 30_080 }];

function serviceOf(spec: object, status: object = {}, annotations: Record<string, string> = {}) {
  const metadata = { namespace: 'default', name: 'web', uid: 'u', resourceVersion: '1', annotations };
  return parseService({ kind: 'Service', metadata, spec: { clusterIPs: ['10.96.0.10'], ports, ...spec }, status });
}

function planOf(
  spec: object,
  endpoints: readonly Endpoint[],
  more: {
    status?: object;
    masqueraded?: 4;
    hasExternalIps?: boolean;
    zone?: string;
    denied?: string;
    vpc?: string;
    elsewhere?: string;
  } = {},
) {
  const slice = parseEndpointSlice({
    kind: 'EndpointSlice',
    metadata: {
      namespace: 'default',
      name: 'web-1',
      uid: 'v',
      resourceVersion: '1',
      labels: { 'kubernetes.io/service-name': 'web' },
    },
    addressType: 'IPv4',
    ports: [{ port: 8080 }],
    endpoints: endpoints.map(([address, nodeName, state]) => ({ addresses: [address], nodeName, ...state })),
  });
  return planService({
    service: serviceOf(spec, more.status, {
      ...(more.vpc === undefined ? {} : { 'ovn.kubernetes.io/vpc': more.vpc }),
      ...(more.elsewhere === undefined ? {} : { 'isthmus.network/endpoints-elsewhere': more.elsewhere }),
    }),
    slices: [slice],
    node: { node: 'n1', zone: more.zone ?? '', masqueraded: new Set('masqueraded' in more ? [] : [4]) },
    hasExternalIps: more.hasExternalIps ?? false,
    hasRight: (key) => key !== more.denied,
  });
}

/** `key: all / local refusals` of each frontend. */
function linesOf({ frontends }: ReturnType<typeof planOf>): readonly string[] {
  return frontends.map(({ key, all, local, refusal, outsideRefusal }) =>
    [
      `${key}:`,
      all.join() || '-',
      ...(local === undefined ? [] : ['/', local.join() || '-']),
      ...(refusal === undefined ? [] : [refusal]),
      ...(outsideRefusal === undefined ? [] : [`outside ${outsideRefusal}`]),
    ].join(' '),
  );
}

const here: Endpoint = ['10.16.0.2', 'n1'];
const there: Endpoint = ['10.16.0.3', 'n2'];
const ingress = { loadBalancer: { ingress: [{ ip: '192.0.2.8' }] } };

describe('frontends of a Service', () => {
  test('are its ClusterIP, addresses of the load balancer, external IPs if allowed, and NodePort', () => {
    const spec = { type: 'LoadBalancer', externalIPs: ['192.0.2.7'] };
    const all = '10.16.0.2 . 8080';
    assert.deepEqual(linesOf(planOf(spec, [here], { status: ingress, hasExternalIps: true })), [
      `10.96.0.10 . 6 . 80: ${all}`,
      `192.0.2.8 . 6 . 80: ${all}`,
      `192.0.2.7 . 6 . 80: ${all}`,
      `0.0.0.0 . 6 . 30080: ${all}`,
    ]);
    assert.equal(linesOf(planOf(spec, [here], { status: ingress })).length, 3);
    const rights = rightsOf(serviceOf(spec, ingress), true).map(({ key, isClusterIp }) => [key, isClusterIp]);
    assert.deepEqual(rights, [
      ['10.96.0.10', true],
      ['10.96.0.10 . 6 . 80', true],
      ['192.0.2.8 . 6 . 80', false],
      ['192.0.2.7 . 6 . 80', false],
      ['0.0.0.0 . 6 . 30080', false],
    ]);
  });

  test('no external IPs where these and the ports are too many', () => {
    const externalIPs = Array.from({ length: 101 }, (_, index) => `192.0.2.${index}`);
    const many = Array.from({ length: 100 }, (_, index) => ({ name: `p${index}`, port: 1000 + index }));
    assert.equal(rightsOf(serviceOf({ externalIPs, ports: many }), true).length, 101, 'the ClusterIP, and its ports');
  });

  test('none for a headless Service, and none that an older Service has', () => {
    assert.deepEqual(planOf({ clusterIPs: ['None'] }, [here]).frontends, []);
    assert.deepEqual(linesOf(planOf({ type: 'NodePort' }, [], { denied: '0.0.0.0 . 6 . 30080' })), [
      '10.96.0.10 . 6 . 80: - reject',
    ]);
  });

  test('none for a Service of another VPC, whose ClusterIP is known all the same', () => {
    const plan = planOf({}, [here], { vpc: 'blue' });
    assert.deepEqual([plan.frontends, plan.clusterIps], [[], ['10.96.0.10']]);
    assert.equal(planOf({}, [here], { vpc: 'ovn-cluster' }).frontends.length, 1);
  });

  test('none whose endpoints the controller found in another VPC, and no single endpoint there', () => {
    const plan = planOf({}, [here], { elsewhere: '*' });
    assert.deepEqual([plan.frontends, plan.clusterIps], [[], ['10.96.0.10']]);
    const [line] = linesOf(planOf({}, [here, there], { elsewhere: here[0] }));
    assert.equal(line, '10.96.0.10 . 6 . 80: 10.16.0.3 . 8080');
  });

  test('no endpoints at all: every client is refused', () => {
    for (const policy of [{}, { externalTrafficPolicy: 'Local' }, { internalTrafficPolicy: 'Local' }])
      assert.deepEqual(linesOf(planOf({ type: 'NodePort', ...policy }, [])), [
        '10.96.0.10 . 6 . 80: - reject',
        '0.0.0.0 . 6 . 30080: - reject',
      ]);
  });
});

describe('traffic policies', () => {
  test('external Local: external clients get local endpoints, clients in the cluster get all endpoints', () => {
    const spec = { type: 'NodePort', externalTrafficPolicy: 'Local' };
    assert.deepEqual(linesOf(planOf(spec, [here, there])), [
      '10.96.0.10 . 6 . 80: 10.16.0.2 . 8080,10.16.0.3 . 8080',
      '0.0.0.0 . 6 . 30080: 10.16.0.2 . 8080,10.16.0.3 . 8080 / 10.16.0.2 . 8080',
    ]);
    assert.deepEqual(linesOf(planOf(spec, [there]))[1], '0.0.0.0 . 6 . 30080: 10.16.0.3 . 8080 / - outside drop');
  });

  test('external Local: a terminating endpoint that still serves is used if it is the last local one', () => {
    const terminating: Endpoint = [
      '10.16.0.2',
      'n1',
      { conditions: { ready: false, serving: true, terminating: true } },
    ];
    const spec = { type: 'LoadBalancer', externalTrafficPolicy: 'Local', healthCheckNodePort: 31_000 };
    const plan = planOf(spec, [terminating, there], { status: ingress });
    assert.equal(linesOf(plan)[1], '192.0.2.8 . 6 . 80: 10.16.0.3 . 8080 / 10.16.0.2 . 8080');
    assert.equal(plan.healthCheck?.localEndpoints, 0, 'but a load balancer sends no new clients');
    assert.equal(planOf(spec, [here, there], { status: ingress }).healthCheck?.localEndpoints, 1);
  });

  test('internal Local: the ClusterIP has only local endpoints, and packets from pods are dropped', () => {
    const spec = { internalTrafficPolicy: 'Local' };
    const [frontend] = planOf(spec, [here, there]).frontends;
    assert.deepEqual([frontend?.all, frontend?.isOfClientsNode], [['10.16.0.2 . 8080'], true]);
    assert.deepEqual(linesOf(planOf(spec, [there])), ['10.96.0.10 . 6 . 80: - drop']);
    assert.equal(planOf(spec, []).frontends[0]?.isOfClientsNode, false, 'a pod is refused as well');
  });

  test('policy Cluster without an address to masquerade external clients: they are refused', () => {
    const lines = linesOf(planOf({ type: 'NodePort' }, [here], { masqueraded: 4 }));
    assert.deepEqual(lines, [
      '10.96.0.10 . 6 . 80: 10.16.0.2 . 8080 / - outside reject',
      '0.0.0.0 . 6 . 30080: 10.16.0.2 . 8080 / - outside reject',
    ]);
    const local = { type: 'NodePort', externalTrafficPolicy: 'Local' };
    assert.match(linesOf(planOf(local, [here], { masqueraded: 4 }))[1] ?? '', /\/ 10.16.0.2 . 8080$/);
  });

  test('hints for the zone of the node', () => {
    const inZone = (zone: string): object => ({ hints: { forZones: [{ name: zone }] } });
    const endpoints: Endpoint[] = [
      ['10.16.0.2', 'n1', inZone('a')],
      ['10.16.0.3', 'n2', inZone('b')],
    ];
    assert.deepEqual(linesOf(planOf({}, endpoints, { zone: 'b' })), ['10.96.0.10 . 6 . 80: 10.16.0.3 . 8080']);
  });
});

test('source ranges of a load balancer are of one family and do not overlap', () => {
  const ranges = ['10.0.0.0/8', '10.1.0.0/16', '192.0.2.1/32', 'fd00::/8', '10.0.0.0/8'];
  assert.deepEqual(disjoint(ranges, 4), ['10.0.0.0/8', '192.0.2.1']);
  const spec = { type: 'LoadBalancer', loadBalancerSourceRanges: ranges };
  const plan = planOf(spec, [here], { status: ingress });
  assert.deepEqual(
    plan.frontends.map(({ sourceRanges }) => sourceRanges),
    [undefined, ['10.0.0.0/8', '192.0.2.1'], undefined],
  );
});

test('ranges of IPv4 alone leave the IPv6 addresses of a load balancer open, as with kube-proxy', () => {
  const spec = {
    type: 'LoadBalancer',
    clusterIPs: ['10.96.0.10', 'fd00:96::a'],
    loadBalancerSourceRanges: ['10.0.0.0/8'],
  };
  const status = { loadBalancer: { ingress: [{ ip: '192.0.2.8' }, { ip: '2001:db8::8' }] } };
  const ranges = new Map(
    planOf(spec, [here], { status }).frontends.map(({ key, sourceRanges }) => [key, sourceRanges]),
  );
  assert.deepEqual(ranges.get('192.0.2.8 . 6 . 80'), ['10.0.0.0/8']);
  assert.equal(ranges.get('2001:db8::8 . 6 . 80'), undefined);
});
