import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseClusterStatus } from './cluster-status.ts';

const leader = `a48f
Name: OVN_Northbound
Cluster ID: 974c (974c74fa-6e06-48df-a504-cdb693745ff6)
Server ID: a48f (a48f0000-8e0c-490f-a510-0c9edbcafb12)
Address: ssl:[fd00::1]:6643
Status: cluster member
Role: leader
Term: 3
Leader: self
Vote: self

Last Election started 5003 ms ago, reason: leadership_transfer
Last Election won: 5001 ms ago
Election timer: 1000
Log: [2, 9]
Entries not yet committed: 0
Entries not yet applied: 0
Connections: ->7e2c <-7e2c
Disconnections: 0
Servers:
    a48f (a48f at ssl:[fd00::1]:6643) (self) next_index=7 match_index=8
    7e2c (7e2c at ssl:[fd00::2]:6643) next_index=9 match_index=8 last msg 12 ms ago
    11aa (11aa at ssl:[fd00::3]:6643) next_index=9 match_index=0
`;

test('the status of a leader is parsed', () => {
  const server = parseClusterStatus(leader);
  assert.deepEqual(
    [server?.role, server?.term, server?.isConnected, server?.leadingMs, server?.electionTimerMs],
    ['leader', 3, true, 5001, 1000],
  );
  assert.deepEqual(server?.servers, [
    { sid: 'a48f', address: 'ssl:[fd00::1]:6643', isSelf: true, silentMs: undefined },
    { sid: '7e2c', address: 'ssl:[fd00::2]:6643', isSelf: false, silentMs: 12 },
    { sid: '11aa', address: 'ssl:[fd00::3]:6643', isSelf: false, silentMs: undefined },
  ]);
});

test('a joining server and a server without a leader are not connected; other text has no status', () => {
  const joining = leader
    .replace(/^Cluster ID: .*$/m, 'Cluster ID: not yet known')
    .replace('Status: cluster member', 'Status: joining cluster')
    .replace('Role: leader', 'Role: follower')
    .replace('Leader: self', 'Leader: unknown');
  const server = parseClusterStatus(joining);
  assert.deepEqual([server?.cid, server?.isJoining, server?.isConnected], [undefined, true, false]);
  const lonely = leader.replace('Role: leader', 'Role: candidate').replace('Leader: self', 'Leader: unknown');
  assert.equal(parseClusterStatus(lonely)?.isConnected, false);
  assert.equal(parseClusterStatus(''), undefined);
});
