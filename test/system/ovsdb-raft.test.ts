import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { openOvsdb, type OvsdbClient, OvsdbConnectionLost, type OvsdbOptions, OvsdbTimeout } from 'ovsdb-client';
import { schemaFile, startOvsdbServer, type TestServer } from 'ovsdb-client/testing';
import { eventuallyPasses } from '../../lib/testing-eventually.ts';

const schema = schemaFile('ovn-nb');
const database = 'OVN_Northbound';
const kills = 3;
const writersAtOnce = 8;

async function startCluster(t: TestContext): Promise<readonly TestServer[]> {
  const dir = await mkdtemp(join(tmpdir(), 'ovsdb-raft-'));
  t.after(() => rm(dir, { recursive: true, force: true }));
  const address = (index: number): string => `unix:${join(dir, String(index))}`;
  const servers: TestServer[] = [];
  for (const index of [0, 1, 2]) {
    const others = index === 0 ? {} : { join: [address(0)] };
    const server = await startOvsdbServer({ schema, cluster: { address: address(index), ...others } });
    t.after(() => server.stop());
    servers.push(server);
    await eventuallyPasses(async () =>
      (await server.control(['cluster/status', database])).includes('Status: cluster member'),
    );
  }
  return servers;
}

async function open(
  t: TestContext,
  servers: readonly TestServer[],
  options: Partial<OvsdbOptions> = {},
): Promise<OvsdbClient> {
  const client = await openOvsdb({
    remotes: servers.map((server) => server.remote),
    database,
    monitor: { Logical_Switch: ['name'] },
    ...options,
  });
  t.after(() => client.close());
  return client;
}

async function leaderOf(servers: readonly TestServer[]): Promise<TestServer> {
  let leader: TestServer | undefined;
  await eventuallyPasses(async () => {
    for (const server of servers) {
      const status = await server.control(['cluster/status', database]).catch(() => '');
      if (status.includes('Role: leader')) leader = server;
    }
    return leader !== undefined;
  });
  return leader as TestServer;
}

/** The outcome of each write, by its name. */
interface Ledger {
  readonly acknowledged: Set<string>;
  /** The connection was lost, or the deadline passed, after the request had been sent. */
  readonly uncertain: Set<string>;
  readonly refused: Set<string>;
}

async function write(client: OvsdbClient, name: string, ledger: Ledger): Promise<void> {
  try {
    await client.transact([{ op: 'insert', table: 'Logical_Switch', row: { name } }], { timeoutMs: 10_000 });
    ledger.acknowledged.add(name);
    const cached = client.cache.table('Logical_Switch').byIndex(['name'], [name]);
    assert.equal(cached.length, 1, `${name} was acknowledged, but is not in the cache once`);
  } catch (error) {
    if (error instanceof OvsdbTimeout || (error instanceof OvsdbConnectionLost && error.sent))
      ledger.uncertain.add(name);
    else if (error instanceof OvsdbConnectionLost) ledger.refused.add(name);
    else throw error;
  }
}

async function writeUntil(client: OvsdbClient, writer: number, ledger: Ledger, isDone: () => boolean): Promise<void> {
  for (let count = 0; !isDone(); count++) {
    await client.synced();
    await write(client, `w${writer}-${count}`, ledger);
  }
}

function copies(client: OvsdbClient): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const row of client.cache.table('Logical_Switch').rows.values())
    counts.set(String(row['name']), (counts.get(String(row['name'])) ?? 0) + 1);
  return counts;
}

test(
  'writes continue while leaders are killed, and acknowledged rows exist exactly once',
  { timeout: 300_000 },
  async (t) => {
    const servers = await startCluster(t);
    const client = await open(t, servers, { indexes: { Logical_Switch: [['name']] } });
    const ledger: Ledger = { acknowledged: new Set(), uncertain: new Set(), refused: new Set() };
    let isDone = false;
    const writers = Array.from({ length: writersAtOnce }, (_, writer) =>
      writeUntil(client, writer, ledger, () => isDone),
    );
    for (let kill = 0; kill < kills; kill++) {
      const before = ledger.acknowledged.size;
      await eventuallyPasses(() => ledger.acknowledged.size > before + 100);
      const leader = await leaderOf(servers);
      await leader.kill('SIGKILL');
      const survivors = servers.filter((server) => server !== leader);
      await leaderOf(survivors);
      const afterKill = ledger.acknowledged.size;
      await eventuallyPasses(() => ledger.acknowledged.size > afterKill + 50);
      await leader.restart();
      await eventuallyPasses(async () =>
        (await leader.control(['cluster/status', database])).includes('Role: follower'),
      );
    }
    isDone = true;
    await Promise.all(writers);

    // A separate reader shows the cluster's rows, independent of the writer's cache.
    const reader = await open(t, servers);
    const found = copies(reader);
    for (const name of ledger.acknowledged) assert.equal(found.get(name), 1, `acknowledged ${name}`);
    for (const name of ledger.refused) assert.equal(found.get(name), undefined, `refused ${name}`);
    for (const name of ledger.uncertain)
      assert.ok((found.get(name) ?? 0) <= 1, `uncertain ${name} is there ${found.get(name)} times`);
    assert.ok(ledger.uncertain.size > 0, 'no kill hit a write under way');
    assert.deepEqual(copies(client), found);
    t.diagnostic(
      `${ledger.acknowledged.size} acknowledged, ${ledger.uncertain.size} uncertain, ${ledger.refused.size} refused`,
    );
  },
);

test(
  'a leader-only client leaves a server that lost the leadership, and other clients stay',
  { timeout: 300_000 },
  async (t) => {
    const servers = await startCluster(t);
    const follows = await open(t, servers);
    const states: string[] = [];
    const leader = await leaderOf(servers);
    const stays = await open(t, [servers.find((server) => server !== leader) as TestServer], {
      leaderOnly: false,
      onState: (state) => states.push(state),
    });
    const left = new Promise<Error | undefined>((resolve) => {
      follows.onState((state, reason) => {
        if (state === 'disconnected') resolve(reason);
      });
    });
    await leader.control(['cluster/leave', database]).catch(() => '');
    assert.ok((await left) instanceof OvsdbConnectionLost);
    await follows.synced();
    await follows.transact([{ op: 'insert', table: 'Logical_Switch', row: { name: 'after' } }]);
    await eventuallyPasses(() => stays.cache.table('Logical_Switch').rows.size === 1);
    assert.deepEqual(states, ['connecting', 'synced']);
  },
);
