import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatCidr } from '../net/cidr.ts';
import { gatewaysInForce, networksInForce, notedUnderlay, routingInForce, underlayText } from './in-force.ts';
import { annotation } from './names.ts';
import { isForOtherClusters, routingOf } from './subnet-routing.ts';

const noted = (note: string): Record<string, string> => ({ [annotation.accepted]: note });

test('the annotation of a subnet has its networks and its VLAN; other content is ignored', () => {
  const note =
    '192.168.1.0/24,fd00::/64 192.168.1.1,fd00::1 net1/10/u2o router=192.168.1.2,fd00::2 192.168.1.9@1763700000000 of=5-6';
  assert.deepEqual(networksInForce(noted(note)).map(formatCidr), ['192.168.1.0/24', 'fd00::/64']);
  assert.deepEqual(gatewaysInForce(noted(note)), ['192.168.1.1', 'fd00::1', '192.168.1.2', 'fd00::2', '192.168.1.9']);
  assert.deepEqual(notedUnderlay(note), { provider: 'net1', vlan: 10, routing: 'u2o' });
  assert.equal(routingInForce(noted(note)), 'u2o');
  assert.equal(underlayText({ provider: 'net1', vlan: 0, routing: 'physical' }), 'net1/0/physical');
});

test('an annotation without a VLAN, or with a malformed one, is of the overlay', () => {
  for (const note of ['', '10.16.0.0/16 10.16.0.1', '10.16.0.0/16 10.16.0.1 10.16.0.9@5', '10.16.0.0/16 x net1/10/odd'])
    assert.equal(routingInForce(noted(note)), 'overlay', note);
  assert.equal(routingInForce(undefined), 'overlay');
});

test('the routing of a spec follows from its VLAN and gateway fields', () => {
  assert.equal(routingOf({ logicalGateway: true, u2oInterconnection: true }), 'overlay');
  assert.equal(routingOf({ vlan: 'v' }), 'physical');
  assert.equal(routingOf({ vlan: 'v', logicalGateway: true }), 'logicalGateway');
  assert.equal(routingOf({ vlan: 'v', u2oInterconnection: true }), 'u2o');
  const overlayOnly = { u2oFeatures: { overlayOnlyRouting: true } };
  assert.deepEqual(
    (['overlay', 'logicalGateway', 'u2o', 'physical'] as const).map((one) => isForOtherClusters(one, overlayOnly)),
    [true, true, false, false],
  );
});
