/** Tests with real ovsdb-servers and a real northd: which programs follow, and whose rows exist. */
import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { openOvsdb, type Operation } from 'ovsdb-client';
import { ovnEnvironment, ovnProgram, schemaFile, startOvsdbServer, type TestServer } from 'ovsdb-client/testing';
import type { OvnFacts } from '../model/ovn-facts.ts';
import { readDatabases } from './databases.ts';

const signal = new AbortController().signal;
/** Long enough for a busy machine to open a database; also the time that a test waits for a program that does not answer. */
const patienceMs = 1500;

async function write(server: TestServer, database: string, operations: readonly Operation[]): Promise<void> {
  const client = await openOvsdb({ remotes: [server.remote], database, monitor: {} });
  await client.transact(operations);
  await client.close();
}

function startNorthd(nb: TestServer, sb: TestServer): ChildProcess {
  const files = [
    `--unixctl=${join(nb.dir, 'northd.ctl')}`,
    `--log-file=${join(nb.dir, 'northd.log')}`,
    '-vconsole:off',
  ];
  return spawn(ovnProgram('ovn-northd'), [`--ovnnb-db=${nb.remote}`, `--ovnsb-db=${sb.remote}`, ...files], {
    stdio: 'ignore',
    env: { ...ovnEnvironment(), OVS_RUNDIR: nb.dir },
  });
}

/** `e1` has no ovn-controller and thus processes nothing; `w1` belongs to another cluster. */
const chassis: readonly Operation[] = ['e1', 'w1'].flatMap((name, at): Operation[] => [
  {
    op: 'insert',
    table: 'Encap',
    row: { type: 'geneve', ip: `192.0.2.${at + 1}`, chassis_name: name },
    uuidName: `${name}encap`,
  },
  {
    op: 'insert',
    table: 'Chassis',
    row: {
      name,
      hostname: name,
      encaps: [{ named: `${name}encap` }],
      other_config: name === 'w1' ? { 'is-remote': 'true' } : { 'is-interconn': 'true' },
    },
  },
]);

describe('the databases of a cluster', () => {
  let nb: TestServer;
  let sb: TestServer;
  let northd: ChildProcess | undefined;
  const read = async (timeoutMs: number, nbOnly = false): Promise<OvnFacts> => {
    const facts = await readDatabases({ nb: [nb.remote], sb: nbOnly ? [] : [sb.remote], timeoutMs, signal });
    assert.ok(facts);
    return facts;
  };

  before(async () => {
    nb = await startOvsdbServer({ schema: schemaFile('ovn-nb') });
    sb = await startOvsdbServer({ schema: schemaFile('ovn-sb') });
  });
  after(async () => {
    // A test that failed before northd started must still stop the servers, which would otherwise block the whole run.
    northd?.kill('SIGKILL');
    if (northd?.exitCode === null && northd.signalCode === null) await once(northd, 'exit');
    await Promise.all([nb.stop(), sb.stop()]);
  });

  it('nothing is read without a socket', async () => {
    assert.equal(await readDatabases({ nb: [], sb: [], timeoutMs: 100, signal }), undefined);
  });

  it('a northd that has never run does not follow; one that runs does', async () => {
    assert.equal((await read(patienceMs, true)).isNorthdCurrent, false);
    northd = startNorthd(nb, sb);
    let facts = await read(patienceMs, true);
    for (let attempt = 0; attempt < 50 && facts.isNorthdCurrent !== true; attempt += 1)
      facts = await read(patienceMs, true);
    assert.equal(facts.isNorthdCurrent, true);
    assert.deepEqual(facts.silent, []);
  });

  it('a chassis whose ovn-controller is stalled is distinguished from one of another cluster', async () => {
    await write(sb, 'OVN_Southbound', chassis);
    const facts = await read(patienceMs);
    assert.deepEqual(
      facts.chassis.map(({ name, addresses, isRemote, isInterconnect, isCurrent }) => [
        name,
        addresses,
        isRemote,
        isInterconnect,
        isCurrent,
      ]),
      [
        ['e1', ['192.0.2.1'], false, true, false],
        ['w1', ['192.0.2.2'], true, false, false],
      ],
    );
    assert.equal(facts.isNorthdCurrent, true);
  });

  it('rows of the interconnect are found by their owner, others are not', async () => {
    const row = (name: string, owner: string): Operation => ({
      op: 'insert',
      table: 'Logical_Switch',
      row: { name, external_ids: { 'isthmus-owner': owner } },
    });
    await write(nb, 'OVN_Northbound', [row('ts', 'interconnect/transit/ts'), row('web', 'controller/subnet/web')]);
    assert.deepEqual((await read(patienceMs)).interconnectRows, [
      { database: 'NB', table: 'Logical_Switch', owner: 'interconnect/transit/ts' },
    ]);
  });

  it('a frozen northd does not follow', async () => {
    northd?.kill('SIGSTOP');
    assert.equal((await read(patienceMs)).isNorthdCurrent, false);
    northd?.kill('SIGCONT');
  });

  it('a frozen database is silent, and the other is still read', async () => {
    await sb.kill('SIGSTOP');
    const facts = await read(patienceMs);
    await sb.kill('SIGCONT');
    assert.deepEqual(
      facts.silent.map(({ code }) => code),
      ['DatabaseSilent'],
    );
    assert.match(facts.silent[0]?.message ?? '', /OVN_Southbound did not answer at unix:.* within \d+ ms/);
    assert.equal(facts.interconnectRows.length, 1);
  });
});
