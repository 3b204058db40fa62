/** The interconnect databases of a lab as a Raft cluster of three: they survive the loss of one server, and start empty if all files are lost. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { openOvsdb, type OvsdbClient } from 'ovsdb-client';
import { ovnProgram } from 'ovsdb-client/testing';
import { componentsIn, killComponent } from '../lab/component.ts';
import { hubRemotes, type HubLayout } from '../lab/layout.ts';
import { remakeDatabase, startInterconnectDatabases } from '../lab/ovn.ts';
import { run } from '../lab/run.ts';
import { eventually, notYet } from '../../lib/testing-eventually.ts';

describe('a Raft cluster of three interconnect databases', () => {
  const dir = mkdtempSync(join(tmpdir(), 'icdb-'));
  const netns = `icdb${process.pid.toString(36)}-hub`;
  const hub: HubLayout = {
    dir,
    netns,
    address: '',
    transitCidr: '',
    databases: 3,
    ovn: process.env['ISTHMUS_OVN'] ?? '',
  };
  let client: OvsdbClient;

  const write = async (name: string): Promise<void> => {
    await client.synced();
    await client.transact([{ op: 'insert', table: 'Transit_Switch', row: { name } }]);
  };
  const names = (): string[] =>
    [...client.cache.table('Transit_Switch').rows.values()].map((row) => row['name'] as string).sort();
  const kill = (name: string): Promise<void> => killComponent({ dir, name });

  before(async () => {
    await run(['ip', 'netns', 'add', netns]);
    await run(['ip', '-n', netns, 'link', 'set', 'lo', 'up']);
    await startInterconnectDatabases(hub);
    client = await openOvsdb({
      remotes: hubRemotes(hub, 'icnb').split(','),
      database: 'OVN_IC_Northbound',
      monitor: { Transit_Switch: ['name'] },
    });
  });
  after(async () => {
    await client.close();
    for (const component of componentsIn(dir)) await killComponent(component);
    await run(['ip', 'netns', 'del', netns]);
    rmSync(dir, { recursive: true });
  });

  it('has the contract’s sockets for the first server of each database, and accepts writes', async () => {
    await run([ovnProgram('ovn-ic-sbctl'), `--db=unix:${join(dir, 'icsb.sock')}`, '--no-leader-only', 'show']);
    await write('one');
    assert.deepEqual(names(), ['one']);
  });

  it('accepts writes without any one of its servers', async () => {
    for (const name of ['icnb', 'icnb2', 'icnb3']) {
      await kill(name);
      await eventually(`a write without ${name}`, async () => {
        await client.synced();
        return write(name).then(
          () => true as const,
          (error: Error) => notYet(error.message),
        );
      });
      await startInterconnectDatabases(hub);
    }
    assert.deepEqual(
      names().filter((name) => name !== 'one'),
      ['icnb', 'icnb2', 'icnb3'],
    );
  });

  it('keeps existing files, and starts empty when all files are lost', async () => {
    const servers = ['icnb', 'icnb2', 'icnb3'];
    await Promise.all(servers.map(kill));
    await remakeDatabase(hub, 'icnb');
    await startInterconnectDatabases(hub);
    await client.synced();
    await eventually('the rows of before', () => names().length === 4 || notYet(names().join()));
    await Promise.all(servers.map(kill));
    for (const name of servers) rmSync(join(dir, `${name}.db`));
    for (const name of servers) await remakeDatabase(hub, name);
    await startInterconnectDatabases(hub);
    await write('two');
    assert.deepEqual(names(), ['two']);
  });
});
