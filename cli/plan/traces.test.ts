import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findTraces } from './traces.ts';

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
