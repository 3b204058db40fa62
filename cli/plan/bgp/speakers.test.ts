import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { NodeSession } from '../../../lib/bgp/objects.ts';
import { instanceOf, nodeOf, peerOf, stateOf } from '../../../lib/bgp/testing.ts';
import type { BgpReading } from '../../model/bgp.ts';
import { listSessions } from './sessions.ts';
import { sessionOf, speakerOf } from './speakers.ts';

const address = 'fe80::1%eth1';

/** n1 has found the router on its link, n2 reports that its link has none, n3 has not reported. */
function reading(): BgpReading {
  const refused: NodeSession = { node: 'n2', state: 'Refused', reason: 'NoNeighbor', message: 'no neighbour on eth1' };
  const peer = peerOf('tor', undefined, { interface: 'eth1' });
  const state = stateOf({
    nodes: ['n1', 'n2', 'n3'].map((name, at) => nodeOf(name, [`10.0.0.${at + 1}`])),
    instances: [instanceOf('rack')],
    peers: [{ ...peer, status: { ...peer.status, nodes: [refused] } }],
  });
  const session = { peer: 'tor', address, asn: 65000, state: 'Established' };
  return {
    label: 'c',
    state: { ...state, node: '' },
    nodeStates: new Map([
      ['n1', { instance: 'rack', ready: true, peers: [session] }],
      ['n2', { instance: 'rack', ready: true, peers: [] }],
    ]),
    learned: new Map(),
  };
}

test('the speaker of a node reports the neighbor of a link, or that the link has none', () => {
  const speaker = speakerOf(reading(), 'n1');
  const peer = speaker.peers.get('tor');
  assert.equal(peer?.address, address);
  assert.deepEqual(peer.families, ['ipv4', 'ipv6']);
  assert.ok(sessionOf(speaker, peer).isUp);
  assert.equal(speakerOf(reading(), 'n2').refused.get('tor')?.message, 'no neighbour on eth1');
  assert.equal(speakerOf(reading(), 'n3').refused.get('tor')?.code, 'NotReported');
  const rows = listSessions(reading(), { node: undefined, peer: undefined }).sessions;
  assert.deepEqual(
    rows.map((row) => [row.node, row.address, row.state, row.reason]),
    [
      ['n1', address, 'Established', undefined],
      ['n2', 'on eth1', 'Refused', 'NoNeighbor'],
      ['n3', 'on eth1', 'Refused', 'NotReported'],
    ],
  );
});
