import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parseClientName, parseServiceName } from '../../commands/why/service.ts';
import { clientPod, endpoint, rawPod, readingOf, type ServiceObjects } from '../../testing-service.ts';
import { vipId } from '../../../lib/services/vips.ts';
import { explainService } from './why.ts';

const onNode = { kind: 'node', node: { name: 'n1', zone: 'z1', addresses: ['172.30.0.11'] } } as const;

/** Codes of the problems, and `address → endpoints` or what serves nothing. */
function answerOf(objects: ServiceObjects): readonly [codes: readonly string[], served: readonly string[]] {
  const { problems, addresses } = explainService(readingOf(objects));
  return [
    problems.map(({ code }) => code),
    addresses.map(({ kind, through, endpoints }) =>
      `${kind} ${through === undefined ? '-' : endpoints.join(' ')}`.trim(),
    ),
  ];
}

const both = 'ClusterIP 10.16.0.1:8080 10.16.0.2:8080';

describe('a client of a Service', () => {
  test('that is a pod is sent to every ready endpoint by the load balancer of the VPC', () => {
    const why = explainService(readingOf({ client: clientPod('client', 'n1') }));
    assert.deepEqual([why.isServed, why.vpc, why.problems], [true, 'ovn-cluster', []]);
    assert.deepEqual(
      why.addresses.map(({ through, endpoints }) => [through, ...endpoints]),
      [['Load_Balancer default/web/tcp/ipv4 in group isthmus.lb.ovn-cluster', '10.16.0.1:8080', '10.16.0.2:8080']],
    );
    assert.equal(why.client, 'pod default/client on node n1, zone z1, in Vpc ovn-cluster, Subnet ovn-default');
  });

  test('that is a node or in its network is served by the node, or by kube-proxy', () => {
    const through = (objects: ServiceObjects) => explainService(readingOf(objects)).addresses[0]?.through;
    const table = 'nftables table inet isthmus-services on n1, tcp 10.96.0.10 port 80';
    assert.equal(through({ client: onNode }), table);
    assert.equal(through({ client: clientPod('host', 'n1', { spec: { hostNetwork: true } }) }), table);
    assert.equal(through({ client: onNode, settings: { nodesServe: false } }), 'kube-proxy on n1');
    const detoured = { client: clientPod('client', 'n1'), subnet: { enableLb: false } };
    assert.equal(through(detoured), table);
    assert.deepEqual(answerOf(detoured), [['ByTheNode'], [both]]);
  });

  test('in a VPC with a VpcDns reaches DNS and the API server by the gate of its node', () => {
    const annotations = {
      'ovn.kubernetes.io/logical_router': 'blue',
      'ovn.kubernetes.io/logical_switch': 'ovn-default',
    };
    const gate = {
      name: 'dns',
      vpc: 'blue',
      vips: new Set([vipId({ protocol: 'tcp', address: '10.96.0.10', port: { port: 80 } })]),
    };
    const ports = [
      { name: 'http', port: 80 },
      { name: 'metrics', port: 9153 },
    ];
    const reached = { client: clientPod('client', 'n1', { annotations }), spec: { ports }, gate };
    const { addresses, isServed } = explainService(readingOf(reached));
    assert.equal(isServed, true);
    assert.deepEqual(
      addresses.map(({ port, through, endpoints }) => [port, through, endpoints.length]),
      [
        [80, 'Load_Balancer dns-gate@blue/tcp/ipv4 in group isthmus.lb.blue, then the gate of VpcDns dns on n1', 2],
        [9153, undefined, 0],
      ],
    );
    const red = { 'ovn.kubernetes.io/logical_router': 'red' };
    assert.deepEqual(answerOf({ client: clientPod('client', 'n1', { annotations: red }) }), [['OtherVpc'], []]);
    assert.deepEqual(answerOf({ ...reached, subnet: { enableLb: false } })[1], []);
  });

  test('in another VPC is not served, and neither is any where there are no load balancers', () => {
    const annotations = { 'ovn.kubernetes.io/vpc': 'blue' };
    assert.deepEqual(answerOf({ annotations, client: clientPod('client', 'n1') }), [['OtherVpc', 'NoEndpoint'], []]);
    assert.deepEqual(answerOf({ annotations, client: onNode }), [['OtherVpc', 'NoEndpoint'], []]);
    const blue = [rawPod('web-1', 'n1', '10.16.0.1', { annotations: { 'ovn.kubernetes.io/logical_router': 'blue' } })];
    const why = explainService(readingOf({ pods: blue }));
    assert.deepEqual([why.vpc, why.vpcFrom], ['blue', 'pod default/web-1 behind it']);
    const mixed = [...blue, rawPod('web-2', 'n2', '10.16.0.2')];
    const named = { annotations: { 'ovn.kubernetes.io/vpc': 'ovn-cluster' }, pods: mixed };
    assert.deepEqual(answerOf(named), [[], ['ClusterIP 10.16.0.2:8080']]);
    assert.deepEqual(
      explainService(readingOf(named)).endpoints.map(({ isServing, why: reason }) => [isServing, reason]),
      [
        [true, ''],
        [false, 'it is in Vpc blue, and the Service is not'],
      ],
    );
    assert.deepEqual(answerOf({ settings: { balancesInOvn: false } }), [['LoadBalancersOff'], []]);
    assert.deepEqual(answerOf({ client: clientPod('client', '', { annotations: {} }) }), [['NoAddress'], []]);
  });

  test('does not get addresses of a family without a ClusterIP, which are those of other programs', () => {
    const status = { loadBalancer: { ingress: [{ ip: '192.0.2.1' }, { ip: '2001:db8::1' }] } };
    const { addresses } = explainService(readingOf({ spec: { type: 'LoadBalancer' }, status }));
    assert.deepEqual(
      addresses.map(({ address }) => address),
      ['10.96.0.10', '192.0.2.1'],
    );
  });

  test('is sent to endpoints that terminate only where none is ready', () => {
    const leaving = { ready: false, serving: true, terminating: true };
    const endpoints = [endpoint(1, 'n1', leaving), endpoint(2, 'n2'), endpoint(3, 'n2', { ready: false })];
    const why = explainService(readingOf({ endpoints }));
    assert.deepEqual(
      why.endpoints.map(({ state, isServing, why: reason }) => [state, isServing, reason]),
      [
        ['terminating', false, 'it terminates, and others are ready'],
        ['ready', true, ''],
        ['not ready', false, 'it fails its readiness probe, or has ended'],
      ],
    );
    assert.deepEqual(answerOf({ endpoints: endpoints.slice(0, 1) }), [[], ['ClusterIP 10.16.0.1:8080']]);
    assert.deepEqual(answerOf({ endpoints: endpoints.slice(2) }), [['NoReadyEndpoint'], ['ClusterIP']]);
    assert.deepEqual(answerOf({ endpoints: [] }), [['NoEndpoint'], ['ClusterIP']]);
  });

  test('is sent to endpoints of its node, or of its zone, where the Service says so', () => {
    const local = { spec: { internalTrafficPolicy: 'Local' }, endpoints: [endpoint(2, 'n2')] };
    assert.deepEqual(answerOf({ ...local, client: clientPod('client', 'n2') }), [[], ['ClusterIP 10.16.0.2:8080']]);
    assert.deepEqual(answerOf({ ...local, client: clientPod('client', 'n1') }), [['NoLocalEndpoint'], ['ClusterIP']]);
    const detoured = { ...local, client: clientPod('client', 'n2'), subnet: { enableLb: false } };
    assert.deepEqual(answerOf(detoured), [['NoLocalEndpoint', 'ByTheNode'], ['ClusterIP']]);
    const zone = (name: string) => ({ hints: { forZones: [{ name }] } });
    const endpoints = [endpoint(1, 'n1', {}, zone('z1')), endpoint(2, 'n2', {}, zone('z2'))];
    const why = explainService(readingOf({ endpoints, client: clientPod('client', 'n1') }));
    assert.deepEqual(
      why.endpoints.map(({ isServing, why: reason }) => [isServing, reason]),
      [
        [true, ''],
        [false, 'its hints are for other zones than z1'],
      ],
    );
  });

  test('reaches addresses for the outside without regard to externalTrafficPolicy, and ranges only on the node', () => {
    const spec = {
      type: 'LoadBalancer',
      externalTrafficPolicy: 'Local',
      externalIPs: ['198.51.100.1'],
      ports: [{ name: 'http', port: 80, nodePort: 30080 }],
    };
    const status = { loadBalancer: { ingress: [{ ip: '192.0.2.8' }] } };
    const objects = { spec, status, endpoints: [endpoint(2, 'n2')], client: clientPod('client', 'n1') };
    const served = ['ClusterIP', 'LoadBalancer', 'NodePort'].map((kind) => `${kind} 10.16.0.2:8080`);
    assert.deepEqual(answerOf(objects), [['ExternalIPsDenied'], served]);
    const allowed = answerOf({ ...objects, settings: { allowsExternalIps: true } });
    assert.deepEqual(allowed, [[], [...served.slice(0, 2), 'ExternalIP 10.16.0.2:8080', ...served.slice(2)]]);
    const ranged = { ...objects, spec: { ...spec, externalIPs: [], loadBalancerSourceRanges: ['203.0.113.0/24'] } };
    assert.deepEqual(answerOf(ranged), [['OutsideSourceRanges'], [served[0], 'LoadBalancer -', served[2]]]);
    const within = { ...ranged, spec: { ...ranged.spec, loadBalancerSourceRanges: ['10.16.0.0/16'] } };
    assert.deepEqual(answerOf(within), [[], served]);
    assert.match(
      explainService(readingOf(within)).addresses[1]?.through ?? '',
      /^nftables .* tcp 192\.0\.2\.8 port 80$/,
    );
  });

  test('gets the reason why a Service has no address, and its conditions', () => {
    assert.deepEqual(answerOf({ spec: { clusterIPs: ['None'] } })[0], ['Headless']);
    assert.deepEqual(answerOf({ spec: { type: 'ExternalName', clusterIPs: [] } })[0], ['ExternalName']);
    const labels = { 'service.kubernetes.io/service-proxy-name': 'other' };
    assert.deepEqual(answerOf({ labels })[0], ['OtherProxy']);
    const type = 'isthmus.network/LoadBalancerReady';
    const conditions = [{ type, status: 'False', reason: 'NoFreeAddress', message: 'none' }];
    assert.deepEqual(answerOf({ status: { conditions } }), [['NoFreeAddress'], [both]]);
  });
});

test('names of Services and clients are read as they are written elsewhere', () => {
  assert.deepEqual(parseServiceName('web'), { namespace: 'default', name: 'web' });
  assert.deepEqual(parseServiceName('service/a/web'), { namespace: 'a', name: 'web' });
  assert.deepEqual(parseClientName('n1'), { kind: 'node', name: 'n1' });
  assert.deepEqual(parseClientName('node/n1'), { kind: 'node', name: 'n1' });
  assert.deepEqual(parseClientName('a/client'), { kind: 'pod', namespace: 'a', name: 'client' });
  assert.deepEqual(parseClientName('pod/client'), { kind: 'pod', namespace: 'default', name: 'client' });
  assert.deepEqual(parseClientName('pod/a/client'), { kind: 'pod', namespace: 'a', name: 'client' });
  for (const text of ['', 'a/b/c/d', 'node/a/b', 'a//b']) assert.throws(() => parseClientName(text), /is not a client/);
  for (const text of ['', 'a/b/c', '/b']) assert.throws(() => parseServiceName(text), /is not a name of a Service/);
});
