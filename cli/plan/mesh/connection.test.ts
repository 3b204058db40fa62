import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { wellPair } from '../../testing-snapshots.ts';
import { arePathsUp, hubAddressOf, nameOf, pathsOf } from './connection.ts';

const codeOf = (value: string | { readonly code: string }) => (typeof value === 'string' ? value : value.code);

describe('connecting two clusters', () => {
  it('takes the hub from the flag or from the first cluster', () => {
    const { east } = wellPair();
    assert.equal(hubAddressOf(east, undefined), 'hub.example.com:6650');
    assert.equal(hubAddressOf(east, 'other:1'), 'other:1');
    east.interconnect = undefined;
    assert.equal(codeOf(hubAddressOf(east, undefined)), 'HubAddressUnknown');
  });

  it('takes names from the member, the flag or the context, and never renames', () => {
    const { east } = wellPair();
    const name = (wished?: string) => codeOf(nameOf(east, wished, '--cluster'));
    assert.deepEqual([name(), name('east'), name('orient')], ['east', 'east', 'ClusterNameFixed']);
    east.interconnect = undefined;
    assert.deepEqual([name(), name('orient')], ['east', 'orient']);
    east.label = 'admin@East';
    assert.deepEqual([name(), name('orient'), name('Bad Name')], ['NameNeeded', 'orient', 'NameNeeded']);
  });

  it('is complete once all paths are up', () => {
    const { east } = wellPair();
    assert.equal(arePathsUp(east, 'west'), true);
    assert.equal(pathsOf(east, 'west'), 'east to west: 2/2');
    assert.equal(arePathsUp(east, 'north'), false);
    assert.equal(pathsOf(east, 'north'), 'east does not know north yet');
    const [remote] = east.remotes;
    assert.ok(remote?.status.paths?.[0]);
    remote.status.paths[0].state = 'Down';
    remote.status.pathsUp = '1/2';
    remote.status.conditions = [{ type: 'Ready', status: 'False', reason: 'TunnelDown', message: 'a tunnel is down' }];
    assert.equal(arePathsUp(east, 'west'), false);
    assert.equal(pathsOf(east, 'west'), 'east to west: 1/2, a tunnel is down');
    remote.status.paths = [];
    assert.equal(arePathsUp(east, 'west'), false);
  });
});
