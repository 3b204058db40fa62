import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { schemaFile, startOvsdbServer, type TestServer } from '../../lib/ovsdb/src/testing.ts';
import { attachment, HubBed } from './hub-bed.ts';

describe('the southbound interconnect database as a cluster of three servers', () => {
  const bed = new HubBed();
  let dir = '';
  const status = (server: TestServer): Promise<string> => server.control(['cluster/status', 'OVN_IC_Southbound']);
  const isLeader = async (server: TestServer): Promise<boolean> => (await status(server)).includes('Role: leader');

  before(async () => {
    dir = await mkdtemp(join(tmpdir(), 'raft-'));
    const address = (index: number): string => `unix:${join(dir, String(index))}`;
    const northbound = await startOvsdbServer({ schema: schemaFile('ovn-ic-nb') });
    const schema = schemaFile('ovn-ic-sb');
    const members: TestServer[] = [];
    for (const index of [0, 1, 2]) {
      const others = index === 0 ? {} : { join: [address(0)] };
      const server = await startOvsdbServer({ schema, cluster: { address: address(index), ...others } });
      members.push(server);
      for (
        let patience = 600;
        patience > 0 && !(await status(server)).includes('Status: cluster member');
        patience -= 1
      )
        await sleep(100);
    }
    bed.servers = [northbound, ...members];
    await bed.startOver();
  });
  after(async () => {
    await bed.down();
    await rm(dir, { recursive: true });
  });

  it('serves the hub with two servers after the leader is lost', async () => {
    const east = await bed.member('east');
    await east.sendAttachments([attachment(['10.16.0.0/16'])], 'a1', '172.30.0.11');
    const before = bed.column('Port_Binding', '_uuid');
    const members = bed.servers.slice(1);
    const roles = await Promise.all(members.map(isLeader));
    const leader = members[roles.indexOf(true)];
    assert.ok(leader);
    await leader.kill('SIGKILL');
    const revision = east.last?.revision ?? 0;
    const accepted = east
      .sendAttachments([attachment(['10.16.0.0/16', '10.17.0.0/16'])], 'a1', '172.30.0.11')
      .catch(() => undefined);
    for (let patience = 600; (east.last?.revision ?? 0) === revision && patience > 0; patience -= 1) await sleep(100);
    await accepted;
    assert.ok((east.last?.revision ?? 0) > revision, 'acknowledged by the two that are left');
    assert.deepEqual(bed.column('Port_Binding', '_uuid'), before);
    assert.deepEqual([...new Set(bed.column('Route', 'ip_prefix'))], ['10.16.0.0/16', '10.17.0.0/16']);
    assert.equal(east.ended, undefined, 'the session went on');
    await leader.restart();
  });
});
