import assert from 'node:assert/strict';
import { test } from 'node:test';
import { exportOf } from './exports.ts';
import { chooseInstance } from './instance.ts';
import { planPeers } from './peers.ts';
import { RouteTable } from './route-table.ts';
import { sentTo } from './sent.ts';
import { advertisementOf, peerOf, stateOf, subnetOf } from './testing.ts';

test('local preference goes to our own AS only; the next hop is of the family', () => {
  const attributes = { localPreference: 200, med: 5, nextHop: { ipv4: '10.0.0.9' } };
  const state = stateOf({
    peers: [peerOf('in', '10.0.0.2', { asn: 65001 }), peerOf('out', '10.0.0.3', { families: ['ipv4', 'ipv6'] })],
    subnets: [subnetOf('web', ['10.16.0.0/16', 'fd00:16::/64'])],
    advertisements: [advertisementOf('all', { attributes })],
  });
  const table = new RouteTable();
  table.rebuild(state, { isLeaving: false });
  const routeClass = table.routes.get('10.16.0.0/16');
  const { peers } = planPeers(state, chooseInstance(state).instance);
  const sent = (address: string, family: 'ipv4' | 'ipv6') => {
    const peer = peers.get(address);
    assert.ok(peer && routeClass);
    const exported = exportOf(peer, routeClass);
    assert.ok(exported);
    const { localPreference, med, nextHop } = sentTo(peer, exported, family);
    return { localPreference, med, nextHop };
  };
  assert.deepEqual(sent('10.0.0.2', 'ipv4'), { localPreference: 200, med: 5, nextHop: '10.0.0.9' });
  assert.deepEqual(sent('10.0.0.3', 'ipv4'), { localPreference: undefined, med: 5, nextHop: '10.0.0.9' });
  assert.deepEqual(sent('10.0.0.3', 'ipv6'), { localPreference: undefined, med: 5, nextHop: 'fd00::1' });
});
