import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Neighbors } from './neighbors.ts';
import type { SeenLink } from '../model/link.ts';

const router = (address: string) => ({ address, isRouter: true });
const host = (address: string) => ({ address, isRouter: false });
const link = (...neighbors: SeenLink['neighbors']): SeenLink => ({
  isRunning: true,
  ownAddresses: ['fe80::9'],
  neighbors,
});

/** The neighbour of eth1 after each reading: address and reason. */
function after(neighbors: Neighbors, ...looks: readonly (SeenLink | undefined)[]): (string | undefined)[] {
  for (const seen of looks) neighbors.see(new Map(seen ? [['eth1', seen]] : []));
  const { address, problem } = neighbors.all.get('eth1') ?? {};
  return [address, problem?.code];
}

const down: SeenLink = { isRunning: false, ownAddresses: [], neighbors: [] };

test('the peer of a link is its only neighbour, or the only router among several', () => {
  assert.deepEqual(after(new Neighbors('n1'), link(host('fe80::1'))), ['fe80::1%eth1', undefined]);
  assert.deepEqual(after(new Neighbors('n1'), link(host('fe80::1'), router('fe80::2'))), ['fe80::2%eth1', undefined]);
  assert.deepEqual(after(new Neighbors('n1'), link()), [undefined, 'NoNeighbor']);
  assert.deepEqual(after(new Neighbors('n1'), down), [undefined, 'InterfaceDown']);
  assert.deepEqual(after(new Neighbors('n1'), undefined), [undefined, undefined]);
});

test('a neighbour stays while the link has no carrier or no answer, and is removed with the link', () => {
  const neighbors = new Neighbors('n1');
  const found = link(router('fe80::1'));
  assert.deepEqual(after(neighbors, found, down), ['fe80::1%eth1', 'InterfaceDown']);
  assert.deepEqual(after(neighbors, link()), ['fe80::1%eth1', 'NoNeighbor']);
  assert.deepEqual(after(neighbors, found), ['fe80::1%eth1', undefined]);
  assert.deepEqual(after(neighbors, undefined, link()), [undefined, 'NoNeighbor']);
});

test('a second router changes nothing while the first is there, and replaces it afterwards', () => {
  const neighbors = new Neighbors('n1');
  const both = link(router('fe80::1'), router('fe80::2'));
  assert.deepEqual(after(neighbors, both), [undefined, 'SeveralNeighbors']);
  assert.deepEqual(neighbors.doubtful, ['fe80::1%eth1', 'fe80::2%eth1']);
  assert.match(
    neighbors.all.get('eth1')?.problem?.message ?? '',
    /2 neighbours are on eth1 of node n1 \(fe80::1, fe80::2\)/,
  );
  assert.deepEqual(after(neighbors, link(router('fe80::1')), both), ['fe80::1%eth1', 'SeveralNeighbors']);
  assert.deepEqual(after(neighbors, link(router('fe80::2'))), ['fe80::2%eth1', undefined]);
  assert.deepEqual(neighbors.doubtful, []);
});

test('a neighbour that an earlier process found is kept, so that its session continues', () => {
  const neighbors = new Neighbors('n1');
  const peer = { peer: 'tor', asn: 65000, state: 'Established' };
  neighbors.remember({
    peers: [
      { ...peer, address: 'fe80::2%eth1', localAddress: 'fe80::9' },
      { ...peer, address: '10.0.0.1' },
    ],
  });
  assert.deepEqual(after(neighbors, link(router('fe80::1'), router('fe80::2'))), ['fe80::2%eth1', 'SeveralNeighbors']);
});

test('the own address follows the kernel; a link that never had one has no peer', () => {
  const neighbors = new Neighbors('n1');
  const withOwn = (...ownAddresses: readonly string[]): SeenLink => ({ ...link(router('fe80::1')), ownAddresses });
  const own = (seen: SeenLink) => {
    after(neighbors, seen);
    return neighbors.all.get('eth1')?.ownAddress;
  };
  assert.deepEqual(after(neighbors, withOwn()), [undefined, 'NoLinkLocalAddress']);
  assert.equal(own(withOwn('fe80::9')), 'fe80::9%eth1');
  assert.equal(own(withOwn('fe80::7', 'fe80::9')), 'fe80::9%eth1');
  assert.equal(own(withOwn()), 'fe80::9%eth1', 'it may be ready again in a moment');
  assert.equal(own(withOwn('fe80::7')), 'fe80::7%eth1');
});
