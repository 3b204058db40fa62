import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { remotePeerOf, type RemotePeer } from '../../../lib/policies/remote-peers.ts';
import { peerId } from '../../../lib/policies/selection.ts';
import { mostWanted } from '../../model/pod-sets.ts';
import { wantedSets } from './wanted-sets.ts';

const key = 'isthmus.network/cluster';
const named = (app: string, ...clusters: readonly string[]): RemotePeer =>
  of(app, { key, operator: 'In', values: [...clusters] });
function of(app: string, expression: { key: string; operator: 'In' | 'Exists'; values?: string[] }): RemotePeer {
  const peer = { namespaces: undefined, pods: { matchLabels: { app }, matchExpressions: [expression] } };
  return remotePeerOf(peerId('shop', peer)) as RemotePeer;
}
const input = { ownCluster: 'east', clusters: ['north', 'west'], isKnown: () => false };

describe('what policies of this cluster want of others', () => {
  it('is one set for equal selectors, of all members that any of them names, and never of this one', () => {
    const peers = [[named('db', 'west', 'east')], [named('db', 'moon')], [], [named('own', 'east')]];
    const [set, ...others] = wantedSets({ ...input, peers });
    assert.deepEqual([set?.clusters, others], [['west'], []]);
    const [all] = wantedSets({ ...input, peers: [[of('db', { key, operator: 'Exists' })]] });
    assert.deepEqual(all, { ...set, clusters: ['north', 'west'] });
    assert.deepEqual(wantedSets({ ...input, clusters: [], peers: [[of('db', { key, operator: 'Exists' })]] }), []);
  });

  it('keeps what is known if there is too much, and asks for no selector that is too long', () => {
    const peers = Array.from({ length: mostWanted + 20 }, (_, at) => [named(`app${at}`, 'west')]);
    const known = new Set(peers.slice(-30).flatMap((ofPolicy) => ofPolicy.map(({ set }) => set)));
    const sets = wantedSets({ ...input, peers, isKnown: (id) => known.has(id) });
    assert.equal(sets.length, mostWanted);
    assert.deepEqual(known.difference(new Set(sets.map(({ id }) => id))), new Set());
    assert.deepEqual(wantedSets({ ...input, peers: [[named('x'.repeat(5000), 'west')]] }), []);
  });
});
