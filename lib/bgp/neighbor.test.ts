import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chooseInstance } from './instance.ts';
import type { BgpPeer, LinkNeighbor } from './objects.ts';
import { type PlannedPeers, planPeers } from './peers.ts';
import { peerOf, stateOf } from './testing.ts';

const there = (address: string): LinkNeighbor => ({ address, ownAddress: 'fe80::9%eth1', problem: undefined });
const on = (name: string, device: string, spec: object = {}): BgpPeer =>
  peerOf(name, undefined, { interface: device, ...spec });

function planned(peers: readonly BgpPeer[], neighbors: Readonly<Record<string, LinkNeighbor>>): PlannedPeers {
  const state = stateOf({ peers, neighbors });
  return planPeers(state, chooseInstance(state).instance);
}

const codes = ({ problems }: PlannedPeers) => [...problems].map(([name, { code }]) => `${name} ${code}`);

test('a peer on an interface has the address of its neighbour, both families and only the own next hop', () => {
  const { peers, interfaces, problems } = planned([on('tor', 'eth1'), on('six', 'eth2', { families: ['ipv6'] })], {
    eth1: there('fe80::1%eth1'),
    eth2: there('fe80::2%eth2'),
  });
  assert.equal(problems.size, 0);
  assert.deepEqual(
    [...peers].map(([key, { address, interface: device, families, nextHops }]) => [
      key,
      address,
      device,
      families,
      nextHops,
    ]),
    [
      ['fe80::2%eth2', 'fe80::2%eth2', 'eth2', ['ipv6'], {}],
      ['fe80::1%eth1', 'fe80::1%eth1', 'eth1', ['ipv4', 'ipv6'], {}],
    ],
  );
  assert.equal(peers.get('fe80::1%eth1')?.sourceAddress, 'fe80::9%eth1');
  assert.deepEqual(
    [...interfaces],
    [
      ['eth2', 'six'],
      ['eth1', 'tor'],
    ],
  );
});

test('a link without a neighbour has no peer and is still searched for one', () => {
  const nobody = { address: undefined, ownAddress: undefined, problem: { code: 'NoNeighbor', message: 'nobody' } };
  const plan = planned([on('tor', 'eth1'), on('gone', 'eth9')], { eth1: nobody });
  assert.deepEqual(codes(plan), ['gone InterfaceNotFound', 'tor NoNeighbor']);
  assert.match(plan.problems.get('gone')?.message ?? '', /node n1 has no interface eth9; name one that it has/);
  assert.deepEqual([...plan.interfaces.keys()], ['eth9', 'eth1']);
});

test('a second peer of a link, and one with the link-local address of another link, are refused', () => {
  const old = on('a', 'eth1');
  const younger = (peer: BgpPeer): BgpPeer => ({ ...peer, createdAt: '2025-01-01T00:00:00Z' });
  const plan = planned([old, younger(on('b', 'eth1')), younger(on('c', 'eth2'))], {
    eth1: there('fe80::1%eth1'),
    eth2: there('fe80::1%eth2'),
  });
  assert.deepEqual(codes(plan), ['b DuplicateInterface', 'c DuplicateAddress']);
  assert.match(
    plan.problems.get('c')?.message ?? '',
    /BgpPeer a on eth1 of node n1 has the link-local address fe80::1 too/,
  );
  assert.deepEqual([...plan.peers.keys()], ['fe80::1%eth1']);
});

test('an object with both address and interface, or with neither, is refused on all nodes', () => {
  const plan = planned([on('both', 'eth1', { address: '10.0.0.9' }), peerOf('neither', undefined)], {
    eth1: there('fe80::1%eth1'),
  });
  assert.deepEqual(codes(plan), ['both InvalidSpec', 'neither InvalidSpec']);
  assert.equal(plan.interfaces.size, 0);
  const [address] = codes(planned([peerOf('local', 'fe80::1')], {}));
  assert.equal(address, 'local InvalidAddress');
});
