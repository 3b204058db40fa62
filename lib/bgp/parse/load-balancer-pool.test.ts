import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseLoadBalancerPool } from './load-balancer-pool.ts';
import { parseService } from './service.ts';

const metadata = { name: 'lan', namespace: 'default', uid: 'u', resourceVersion: '1' };

test('a pool has the networks of its spec once the controller has accepted it, and none before', () => {
  const spec = { addresses: ['192.0.2.8-192.0.2.11', '2001:db8::/64', 'nonsense'] };
  const judged = (status: string) => ({ conditions: [{ type: 'Validated', status }] });
  assert.deepEqual(parseLoadBalancerPool({ metadata, spec, status: judged('True') }), [
    '192.0.2.8/30',
    '2001:db8::/64',
  ]);
  for (const status of [judged('False'), {}]) assert.deepEqual(parseLoadBalancerPool({ metadata, spec, status }), []);
});

test('the addresses that Isthmus allocated are those of the condition', () => {
  const given = (type: string, status: string, message = '') =>
    parseService({
      metadata,
      spec: { type: 'LoadBalancer' },
      status: {
        loadBalancer: { ingress: [{ ip: '192.0.2.8' }, { ip: '192.0.2.9', ipMode: 'Proxy' }] },
        conditions: [{ type, status, message }],
      },
    }).givenIps;
  assert.deepEqual(given('isthmus.network/LoadBalancerReady', 'True'), ['192.0.2.8']);
  assert.deepEqual(given('isthmus.network/LoadBalancerReady', 'False', 'why; it keeps 192.0.2.8'), ['192.0.2.8']);
  assert.deepEqual(given('isthmus.network/LoadBalancerReady', 'False', '192.0.2.8 is of another'), []);
  assert.deepEqual(given('example.com/Ready', 'True'), []);
});
