import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  type Client,
  type Frontend,
  frontendsOf,
  healthyEndpoints,
  outcomeOf,
  type Service,
  type Slice,
  type SliceEndpoint,
  type World,
} from './services.ts';

const node = (zone: string, last: number) => ({
  zone,
  addresses: [`172.30.1.${last}`, `fd00:30::${last}`],
  join: [`100.64.0.${last}`, `fd00:64::${last}`],
  service: [`100.64.1.${last}`, `fd00:64::1:${last}`],
});
const nodes = new Map([
  ['n1', node('east', 11)],
  ['n2', node('west', 12)],
]);
const spec = {
  type: 'LoadBalancer' as const,
  clusterIPs: ['10.96.0.10'],
  ports: [{ name: 'http', protocol: 'TCP' as const, port: 80, targetPort: 8080, nodePort: 30_080 }],
  healthCheckNodePort: 30_090,
};
const status = {
  loadBalancer: { ingress: [{ ip: '198.51.100.1' }, { ip: '198.51.100.2', ipMode: 'Proxy' as const }] },
};
const pod: Client = { kind: 'pod', node: 'n1', addresses: ['10.16.0.2'] };
const outside: Client = { kind: 'outside', node: 'n1', addresses: ['172.30.0.1'] };

function endpoint(address: string, nodeName: string, more: Partial<SliceEndpoint> = {}): SliceEndpoint {
  return { addresses: [address], nodeName, conditions: {}, ...more };
}

function slice(port: number, ...endpoints: readonly SliceEndpoint[]): Slice {
  return { service: 'web', addressType: 'IPv4', ports: [{ name: 'http', protocol: 'TCP', port }], endpoints };
}

function worldOf(more: Partial<Service['spec']>, ...slices: readonly Slice[]): World {
  const services = new Map([['web', { spec: { ...spec, ...more }, status }]]);
  return { services, slices: new Map(slices.map((one, at) => [`web-${at}`, one])), pods: new Map(), nodes };
}

/** Addresses of the endpoints that may answer, or the kind of the outcome. */
function at(world: World, client: Client, kind: Frontend['kind'], on?: string): readonly string[] | string {
  const frontend = frontendsOf(world).find((one) => one.kind === kind && (on === undefined || one.node === on));
  assert.ok(frontend, kind);
  const outcome = outcomeOf(world, client, frontend);
  return outcome?.kind === 'answered' ? [...outcome.by.keys()] : (outcome?.kind ?? 'undefined');
}

const leaving = { conditions: { ready: false, serving: true, terminating: true } };

describe('the model of Services', () => {
  test('all slices count, with the port of each', () => {
    const world = worldOf({}, slice(8080, endpoint('10.16.0.3', 'n1')), slice(8081, endpoint('10.16.0.4', 'n2')));
    assert.deepEqual(at(world, pod, 'ClusterIP'), ['10.16.0.3 8080', '10.16.0.4 8081']);
  });

  test('terminating endpoints serve only if none is ready, and without any a client is rejected', () => {
    const all = slice(8080, endpoint('10.16.0.3', 'n1', leaving), endpoint('10.16.0.4', 'n2'));
    assert.deepEqual(at(worldOf({}, all), pod, 'ClusterIP'), ['10.16.0.4 8080']);
    assert.deepEqual(at(worldOf({}, slice(8080, endpoint('10.16.0.3', 'n1', leaving))), pod, 'ClusterIP'), [
      '10.16.0.3 8080',
    ]);
    const gone = { conditions: { ready: false, serving: false, terminating: true } };
    assert.equal(at(worldOf({}, slice(8080, endpoint('10.16.0.3', 'n1', gone))), pod, 'ClusterIP'), 'rejected');
  });

  test('policy Local drops where the node has no endpoint, and is for clients outside at external addresses', () => {
    const far = slice(8080, endpoint('10.16.0.4', 'n2'));
    assert.equal(at(worldOf({ internalTrafficPolicy: 'Local' }, far), pod, 'ClusterIP'), 'dropped');
    const external = worldOf({ externalTrafficPolicy: 'Local' }, far);
    assert.equal(at(external, outside, 'NodePort', 'n1'), 'dropped');
    assert.deepEqual(at(external, outside, 'NodePort', 'n2'), ['10.16.0.4 8080']);
    assert.deepEqual(at(external, pod, 'LoadBalancer'), ['10.16.0.4 8080']);
    assert.deepEqual(at(external, pod, 'NodePort', 'n1'), ['10.16.0.4 8080']);
    assert.equal(
      at(worldOf({ externalTrafficPolicy: 'Local' }, slice(8080, endpoint('10.16.0.3', 'n1'))), pod, 'NodePort', 'n2'),
      'dropped',
    );
    assert.deepEqual(
      ['n1', 'n2'].map((name) => healthyEndpoints(external, 'web', name)),
      [0, 1],
    );
  });

  test('hints count if all ready endpoints have them and one is for the place', () => {
    const hinted = (zone: string) => ({ hints: { forZones: [{ name: zone }] } });
    const both = [endpoint('10.16.0.3', 'n1', hinted('east')), endpoint('10.16.0.4', 'n2', hinted('west'))];
    assert.deepEqual(at(worldOf({}, slice(8080, ...both)), pod, 'ClusterIP'), ['10.16.0.3 8080']);
    const third = endpoint('10.16.0.5', 'n2');
    assert.equal(at(worldOf({}, slice(8080, ...both, third)), pod, 'ClusterIP').length, 3);
    const elsewhere = [endpoint('10.16.0.3', 'n1', hinted('west'))];
    assert.deepEqual(at(worldOf({}, slice(8080, ...elsewhere)), pod, 'ClusterIP'), ['10.16.0.3 8080']);
  });

  test('source ranges are for the addresses of load balancers, and those with ipMode Proxy are not served', () => {
    const world = worldOf({ loadBalancerSourceRanges: ['172.30.0.0/24'] }, slice(8080, endpoint('10.16.0.3', 'n1')));
    assert.equal(at(world, pod, 'LoadBalancer'), 'dropped');
    assert.deepEqual(at(world, outside, 'LoadBalancer'), ['10.16.0.3 8080']);
    assert.deepEqual(at(world, pod, 'NodePort'), ['10.16.0.3 8080']);
    assert.equal(frontendsOf(world).filter(({ kind }) => kind === 'LoadBalancer').length, 1);
  });

  test('a named port counts with its protocol, and pods that are not ready if the Service publishes them', () => {
    const ports = [{ name: 'http', protocol: 'TCP' as const, port: 80, targetPort: 'web' }];
    const selecting = { ports, selector: { app: 'web' } };
    const one = { node: 'n1', addresses: ['10.16.0.3'], labels: { app: 'web' }, isReady: false, ports: { web: 8081 } };
    const pods = new Map([['a', one]]);
    assert.equal(at({ ...worldOf(selecting), pods }, pod, 'ClusterIP'), 'rejected');
    const published = { ...worldOf({ ...selecting, publishNotReadyAddresses: true }), pods };
    assert.deepEqual(at(published, pod, 'ClusterIP'), ['10.16.0.3 8081']);
  });
});
