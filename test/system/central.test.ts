/** The databases on several nodes: their creation, growth, and the loss of servers, nodes and disks. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { startApiServer, type TestApiServer } from '../../lib/kube/testing.ts';
import { ovnProgram, schemaFile } from '../../lib/ovsdb/src/testing.ts';
import { CentralBed, copiesOf, insert, type CentralNode } from './central-bed.ts';
import { eventually, eventuallyPasses } from '../../lib/testing-eventually.ts';

let api: TestApiServer;
before(async () => {
  api = await startApiServer();
});
after(() => api.stop());

test('a single node creates the databases at once, also with an IPv6 address, and keeps them with another address', async (t) => {
  const bed = new CentralBed(api, 'alone');
  t.after(() => bed.close());
  const node = await bed.node(1, '::1');
  node.start();
  await bed.untilServing([node]);
  const remotes = { nb: 'tcp:[::1]:6641', sb: 'tcp:[::1]:6642', 'sb-chassis': 'tcp:[::1]:6642' };
  await eventuallyPasses(async () => assert.deepEqual(await bed.data('isthmus-ovn'), remotes));
  const began = /"time":"([^"]+)"[^\n]*"msg":"leading"/.exec(node.log('central'))?.[1] ?? '';
  const published =
    /"time":"([^"]+)"[^\n]*"msg":"remotes for clients are published"/.exec(node.log('central'))?.[1] ?? '';
  t.diagnostic(`${Date.parse(published) - Date.parse(began)} ms from the lease to the remotes of clients`);
  await eventually('northd works', () => node.control('northd', 'status').includes('active'));
  await eventually('it is ready', () => node.ready());
  await eventuallyPasses(async () => assert.equal((await bed.data())['status'], '1 of 1 members serve'));

  // The node gets another address; no other node has the rows.
  const writer = await bed.client([node]);
  await insert(writer, 'before');
  await writer.close();
  await node.kill();
  const moved = bed.at(node.name, '127.0.0.77');
  moved.start();
  await bed.untilServing([moved]);
  const reader = await bed.client([moved]);
  assert.deepEqual([...copiesOf(reader).keys()], ['before']);
  await reader.close();
});

describe('databases on three nodes', () => {
  let bed: CentralBed;
  let nodes: CentralNode[];
  before(() => {
    bed = new CentralBed(api, 'cp');
  });
  after(() => bed.close());

  test('adopt a standalone database of an earlier release with its rows', async () => {
    const node = await bed.node(1);
    nodes = [node];
    const file = join(node.data, 'nb.db');
    const schema = JSON.parse(readFileSync(schemaFile('ovn-nb'), 'utf8')) as { version: string; tables: object };
    const older = join(bed.dir, 'older.ovsschema');
    const tables = Object.entries(schema.tables).filter(([name]) => name !== 'Chassis_Template_Var');
    writeFileSync(
      older,
      JSON.stringify({ ...schema, version: '1.0.0', cksum: undefined, tables: Object.fromEntries(tables) }),
    );
    execFileSync(ovnProgram('ovsdb-tool'), ['create', file, older]);
    const rows = ['row0', 'row1'].map((name) => ({ op: 'insert', table: 'Logical_Switch', row: { name } }));
    execFileSync(ovnProgram('ovsdb-tool'), ['transact', file, JSON.stringify(['OVN_Northbound', ...rows])]);
    bed.written = 2;
    node.start();
    await bed.untilServing(nodes);
    await bed.assertRows(nodes);
    assert.ok(readdirSync(node.data).includes('nb.db.before'), 'what it was made of is kept');
    await eventually('it has the schema of the image', () => {
      const argv = ['get-schema-version', `unix:${join(node.run, 'nb.sock')}`, 'OVN_Northbound'];
      return execFileSync(ovnProgram('ovsdb-client'), argv, { encoding: 'utf8' }).trim() === schema.version;
    });
    await bed.assertRows(nodes);
  });

  test('grow from one to three members during writes', async (t) => {
    const gapMs = await bed.writeDuring(nodes, 400, async () => {
      nodes = [...nodes, await bed.node(2), await bed.node(3)];
      for (const node of nodes) node.start();
      await bed.untilServing(nodes);
    });
    t.diagnostic(`longest write ${gapMs} ms`);
    await bed.assertRows(nodes);
    for (const node of nodes) await eventually(`${node.name} is ready`, () => node.ready());
  });

  test('lose no row when the leader is killed or its node freezes', async (t) => {
    let electedMs = 0;
    const loseLeader = async (how: (leader: CentralNode) => void): Promise<CentralNode> => {
      const leader = await bed.leader(nodes);
      const begunMs = performance.now();
      how(leader);
      await bed.leader(nodes.filter((node) => node !== leader));
      electedMs = Math.round(performance.now() - begunMs);
      return leader;
    };
    const killedMs = await bed.writeDuring(nodes, 200, () => loseLeader((leader) => leader.killServer('nb')));
    t.diagnostic(`leader killed: another one after ${electedMs} ms, longest write ${killedMs} ms`);
    await bed.untilServing(nodes);
    let frozen: CentralNode | undefined;
    const frozenMs = await bed.writeDuring(nodes, 200, async () => {
      frozen = await loseLeader((leader) => leader.signal('SIGSTOP'));
    });
    t.diagnostic(`node of the leader frozen: another one after ${electedMs} ms, longest write ${frozenMs} ms`);
    frozen?.signal('SIGCONT');
    await bed.untilServing(nodes);
    await bed.assertRows(nodes);
  });

  test('wake the ovn-controllers after a southbound election, but not after a restart of central', async () => {
    const numberOf = (): number => {
      const answers = nodes.flatMap((node) => {
        const argv = [`--db=unix:${join(node.run, 'sb.sock')}`, '--no-leader-only', 'get', 'SB_Global', '.', 'nb_cfg'];
        try {
          return Number(
            execFileSync(ovnProgram('ovn-sbctl'), argv, { encoding: 'utf8', stdio: 'pipe', timeout: 5000 }),
          );
        } catch {
          return [];
        }
      });
      return Math.max(0, ...answers);
    };
    const isLeader = (node: CentralNode): boolean =>
      node.control('sb', 'cluster/status', 'OVN_Southbound').includes('Role: leader');
    const recorded = (): string => {
      const argv = [
        `--db=unix:${join(nodes[0]?.run ?? '', 'nb.sock')}`,
        '--no-leader-only',
        'get',
        'NB_Global',
        '.',
        'external_ids',
      ];
      return execFileSync(ovnProgram('ovn-nbctl'), argv, { encoding: 'utf8', timeout: 5000 });
    };
    await eventually('the last election is answered', () => recorded().includes('.3"'));
    const before = numberOf();
    nodes.find(isLeader)?.killServer('sb');
    await eventually(
      'the election is answered three times',
      () => numberOf() >= before + 3 && recorded().includes('.3"'),
    );
    await bed.untilServing(nodes);
    const after = numberOf();
    for (const node of nodes) {
      await node.kill(['central']);
      node.start(['central']);
    }
    for (const node of nodes) await eventually(`${node.name} is ready`, () => node.ready());
    await bed.untilServing(nodes);
    await sleep(4000);
    assert.equal(numberOf(), after);
  });

  test('restart without the API server', async () => {
    await Promise.all(nodes.map((node) => node.kill()));
    await api.kill();
    for (const node of nodes) node.start();
    await bed.assertRows(nodes);
    await bed.writeDuring(nodes, 20, () => Promise.resolve());
    for (const node of nodes) await eventually(`${node.name} is ready`, () => node.ready());
    await api.restart();
    await bed.untilApi();
    await bed.untilServing(nodes);
  });

  test('accept a member again that has lost its disk', async () => {
    const plan = await bed.plan();
    const node = nodes[2] as CentralNode;
    await node.kill();
    node.wipeDisk();
    await bed.writeDuring(nodes, 20, () => Promise.resolve());
    node.start();
    await eventually('it is in anew', async () => {
      const report = await bed.report(node);
      return report?.databases.nb.connected === true && report.databases.sb.connected === true;
    });
    await bed.untilServing(nodes);
    await bed.assertRows(nodes);
    assert.deepEqual(await bed.plan(), plan);
  });

  test('accept a member again that has another address', async () => {
    const [first, moving, third] = nodes as [CentralNode, CentralNode, CentralNode];
    await moving.kill();
    const moved = bed.at(moving.name, '127.0.0.78');
    moved.start();
    nodes = [first, moved, third];
    await bed.untilServing(nodes);
    await bed.assertRows(nodes);
  });

  test('replace a deleted Node with a standby node', async () => {
    const [first, gone, third] = nodes as [CentralNode, CentralNode, CentralNode];
    const spare = await bed.node(4);
    spare.start();
    await eventually('it stands by', () => spare.ready());
    await gone.kill();
    await bed.gone(gone);
    nodes = [first, third, spare];
    await bed.untilServing(nodes);
    await bed.assertRows(nodes);
  });
});
