import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseService } from '../../lib/services/parse.ts';
import { findServiceTraces, findTraces } from './traces.ts';

test('fields that controller and daemons wrote on a Node are found, and fields of users stay', () => {
  const metadata = {
    name: 'n1',
    annotations: {
      'ovn.kubernetes.io/ip_address': '100.64.0.2',
      'isthmus.network/service-address': '100.64.0.5',
      'isthmus.network/leave': 'u',
      'up.provider-network.kubernetes.io/plan': 'would do nothing',
      'isthmus.network/bgp-drain': 'true',
      'example.org/rack': '7',
    },
    labels: {
      'up.provider-network.kubernetes.io/ready': 'true',
      'up.provider-network.kubernetes.io/exclude': 'true',
      'ovn.kubernetes.io/ic-gw': 'true',
      'kubernetes.io/os': 'linux',
    },
  };
  const status = { conditions: [{ type: 'NetworkUnavailable', reason: 'IsthmusLeft' }] };
  assert.deepEqual(findTraces({ metadata, status }), {
    node: 'n1',
    annotations: [
      'ovn.kubernetes.io/ip_address',
      'isthmus.network/service-address',
      'isthmus.network/leave',
      'up.provider-network.kubernetes.io/plan',
    ],
    labels: ['up.provider-network.kubernetes.io/ready'],
    hasCondition: true,
  });
});

test('a Node without traces stays unchanged, also if another network reports it ready', () => {
  const status = { conditions: [{ type: 'NetworkUnavailable', reason: 'OtherNetworkReady' }] };
  assert.equal(findTraces({ metadata: { name: 'n1', labels: { 'kubernetes.io/os': 'linux' } }, status }), undefined);
  assert.equal(findTraces({ metadata: { name: 'n1' } }), undefined);
});

test('the finalizer of a Service goes with an uninstallation if the condition or the class is that of Isthmus', () => {
  const found = (spec: object, types: readonly string[], annotations: object = {}) =>
    findServiceTraces(
      parseService({
        metadata: {
          namespace: 'default',
          name: 'web',
          uid: 'u',
          resourceVersion: '7',
          finalizers: ['other', 'service.kubernetes.io/load-balancer-cleanup'],
          annotations: annotations as Record<string, string>,
        },
        spec: { type: 'LoadBalancer', ...spec },
        status: { conditions: types.map((type) => ({ type, status: 'True', reason: 'R', message: '' })) },
      }),
    );
  assert.equal(found({}, ['Other']), undefined, 'of another program');
  assert.deepEqual(found({ loadBalancerClass: 'isthmus.network/load-balancer' }, [])?.finalizers, ['other']);
  const traces = found({}, ['Other', 'isthmus.network/LoadBalancerReady', 'isthmus.network/Served'], {
    'isthmus.network/endpoints-elsewhere': '*',
    'isthmus.network/load-balancer-ips': '192.0.2.1',
  });
  assert.deepEqual(traces?.finalizers, ['other']);
  assert.deepEqual(traces.annotations, ['isthmus.network/endpoints-elsewhere']);
  assert.deepEqual(
    traces.conditions?.map(({ type }) => type),
    ['Other'],
  );
});
