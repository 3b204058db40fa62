import assert from 'node:assert/strict';
import { test } from 'node:test';
import { viewOf } from '../../lib/slices/testing.ts';
import { bgpNodeStateView } from './bgp-node-state.ts';

const metadata = { name: 'n1', uid: 'u', resourceVersion: '1' };
const parse = (status?: object, routes: readonly object[] = []) =>
  viewOf(bgpNodeStateView, { metadata, ...(status && { status }) }, routes);

test('links whose routers wait for this node are read, and next hops with their link', () => {
  const learned = [{ prefix: '198.51.100.0/24', peer: 'tor', nextHop: 'fe80::1%eth1', preference: 100 }];
  const facts = parse({ interfaces: ['eth1', 'eth2'] }, learned);
  assert.deepEqual(facts.interfaces, ['eth1', 'eth2']);
  assert.deepEqual(facts.entries, [{ prefix: '198.51.100.0/24', nextHop: 'fe80::1', device: 'eth1', preference: 100 }]);
  assert.deepEqual(facts.problems, []);
  assert.deepEqual(parse().interfaces, []);
});
