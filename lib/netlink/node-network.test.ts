import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bgpProtocol, type MultipathRoute } from './multipath.ts';
import { nodeNetworkOf } from './node-network.ts';

const route = (destination: string, gateway: string | undefined, protocol: number, table = 254): MultipathRoute => ({
  destination,
  hops: [{ gateway, index: 7 }],
  table,
  metric: 0,
  protocol,
});

test('networks of links and next hops count; routes of BGP and of other tables do not', () => {
  const routes = [
    route('172.30.1.0/24', undefined, 2),
    route('fd00:30::/64', undefined, 2),
    route('2001:db8:1::/64', undefined, 9),
    route('fe80::/64', undefined, 2),
    route('0.0.0.0/0', '172.30.1.254', 16),
    route('10.0.0.0/8', '172.30.1.253', 3),
    route('::/0', 'fe80::1', 9),
    route('10.9.0.0/16', undefined, 4),
    route('192.0.2.0/24', '172.30.1.1', bgpProtocol),
    route('10.64.0.0/16', '100.64.0.1', 3, 10_155),
  ];
  assert.deepEqual(nodeNetworkOf(routes), {
    connected: ['172.30.1.0/24', '2001:db8:1::/64', 'fd00:30::/64'],
    nextHops: ['172.30.1.253', '172.30.1.254'],
  });
});
