/** The databases on several nodes: founded, grown, and carried through the loss of servers, nodes and disks. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { startApiServer, type TestApiServer } from '../../lib/kube/testing.ts';
import { ovnProgram, schemaFile } from '../../lib/ovsdb/src/testing.ts';
import { CentralBed, copiesOf, insert, until, type CentralNode } from './central-bed.ts';

let api: TestApiServer;
before(async () => {
  api = await startApiServer();
});
after(() => api.stop());

test('one node by itself founds the databases at once, by IPv6 too', async (t) => {
  const bed = new CentralBed(api, 'alone');
  t.after(() => bed.close());
  const node = await bed.node(1, '::1');
  node.start();
  await bed.untilServing([node]);
  const began = /"time":"([^"]+)"[^\n]*"msg":"leading"/.exec(node.log('central'))?.[1] ?? '';
  const told = /"time":"([^"]+)"[^\n]*"msg":"clients are told"/.exec(node.log('central'))?.[1] ?? '';
  t.diagnostic(`${Date.parse(told) - Date.parse(began)} ms from the lease to clients that are told`);
  assert.deepEqual(await bed.data('isthmus-ovn'), {
    nb: 'tcp:[::1]:6641',
    sb: 'tcp:[::1]:6642',
    'sb-chassis': 'tcp:[::1]:6642',
  });
  await until('northd works', () => node.control('northd', 'status').includes('active'));
  await until('it is ready', () => node.ready());
  assert.equal((await bed.data())['status'], '1 of 1 members serve');

  // It gets another address: nobody else has the rows.
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

describe('three nodes', () => {
  let bed: CentralBed;
  let nodes: CentralNode[];
  let written = 0;
  before(() => {
    bed = new CentralBed(api, 'cp');
  });
  after(() => bed.close());

  /** Everything written so far is there once. */
  async function assertRows(): Promise<void> {
    const client = await bed.client(nodes);
    const counts = copiesOf(client);
    const names = Array.from({ length: written }, (_, index) => `row${index}`);
    const wrong = names.filter((name) => counts.get(name) !== 1);
    assert.deepEqual(
      wrong.map((name) => `${name}: ${counts.get(name)}`),
      [],
    );
    await client.close();
  }

  /** Writes while something happens. @returns the longest time one write took */
  async function writeDuring(count: number, happens: () => Promise<unknown>): Promise<number> {
    const client = await bed.client(nodes);
    let longestMs = 0;
    const first = written;
    written += count;
    const writing = (async () => {
      for (let index = first; index < first + count; index++) {
        const begunMs = performance.now();
        await insert(client, `row${index}`);
        longestMs = Math.max(longestMs, performance.now() - begunMs);
      }
    })();
    await until('a part is written', () => copiesOf(client).has(`row${first + Math.floor(count / 4)}`));
    await happens();
    await writing;
    await client.close();
    return Math.round(longestMs);
  }

  test('a database of a release before becomes the first member with its rows', async () => {
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
    written = 2;
    node.start();
    await bed.untilServing(nodes);
    await assertRows();
    assert.ok(readdirSync(node.data).includes('nb.db.before'), 'what it was made of is kept');
    await until('it has the schema of the image', () => {
      const argv = ['get-schema-version', `unix:${join(node.run, 'nb.sock')}`, 'OVN_Northbound'];
      return execFileSync(ovnProgram('ovsdb-client'), argv, { encoding: 'utf8' }).trim() === schema.version;
    });
    await assertRows();
  });

  test('grows from one to three while somebody writes', async (t) => {
    const gapMs = await writeDuring(400, async () => {
      nodes = [...nodes, await bed.node(2), await bed.node(3)];
      for (const node of nodes) node.start();
      await bed.untilServing(nodes);
    });
    t.diagnostic(`longest write ${gapMs} ms`);
    await assertRows();
    for (const node of nodes) await until(`${node.name} is ready`, () => node.ready());
  });

  test('a leader that is killed, or whose node freezes, loses no row', async (t) => {
    let electedMs = 0;
    const loseLeader = async (how: (leader: CentralNode) => void): Promise<CentralNode> => {
      const leader = await bed.leader(nodes);
      const begunMs = performance.now();
      how(leader);
      await bed.leader(nodes.filter((node) => node !== leader));
      electedMs = Math.round(performance.now() - begunMs);
      return leader;
    };
    const killedMs = await writeDuring(200, () => loseLeader((leader) => leader.killServer('nb')));
    t.diagnostic(`leader killed: another one after ${electedMs} ms, longest write ${killedMs} ms`);
    await bed.untilServing(nodes);
    let frozen: CentralNode | undefined;
    const frozenMs = await writeDuring(200, async () => {
      frozen = await loseLeader((leader) => leader.signal('SIGSTOP'));
    });
    t.diagnostic(`node of the leader frozen: another one after ${electedMs} ms, longest write ${frozenMs} ms`);
    frozen?.signal('SIGCONT');
    await bed.untilServing(nodes);
    await assertRows();
  });

  test('all of them start again without the API server', async () => {
    await Promise.all(nodes.map((node) => node.kill()));
    await api.kill();
    for (const node of nodes) node.start();
    await assertRows();
    await writeDuring(20, () => Promise.resolve());
    for (const node of nodes) await until(`${node.name} is ready`, () => node.ready());
    await api.restart();
    await bed.untilApi();
    await bed.untilServing(nodes);
  });

  test('a member that lost its disk comes in anew by itself', async () => {
    const plan = await bed.plan();
    const node = nodes[2] as CentralNode;
    await node.kill();
    node.wipeDisk();
    await writeDuring(20, () => Promise.resolve());
    node.start();
    await until('it is in anew', async () => {
      const report = await bed.report(node);
      return report?.databases.nb.connected === true && report.databases.sb.connected === true;
    });
    await bed.untilServing(nodes);
    await assertRows();
    assert.deepEqual(await bed.plan(), plan);
  });

  test('a member that gets another address comes in anew with it', async () => {
    const [first, moving, third] = nodes as [CentralNode, CentralNode, CentralNode];
    await moving.kill();
    const moved = bed.at(moving.name, '127.0.0.78');
    moved.start();
    nodes = [first, moved, third];
    await bed.untilServing(nodes);
    await assertRows();
  });

  test('a Node that is gone is replaced by one that stands by', async () => {
    const [first, gone, third] = nodes as [CentralNode, CentralNode, CentralNode];
    const spare = await bed.node(4);
    spare.start();
    await until('it stands by', () => spare.ready());
    await gone.kill();
    await bed.gone(gone);
    nodes = [first, third, spare];
    await bed.untilServing(nodes);
    await assertRows();
  });

  test('goes on with the last of three', async () => {
    const [last, ...lost] = nodes as [CentralNode, CentralNode, CentralNode];
    await Promise.all(lost.map((node) => node.kill()));
    await bed.annotate({ 'isthmus.network/recover': 'nobody' });
    await until('it is refused', async () => (await bed.data())['message']?.includes('nobody is no node'));
    await bed.annotate({ 'isthmus.network/recover': last.name });
    nodes = [last];
    await until('it serves', async () => {
      const report = await bed.report(last);
      return report?.generation === 2 && report.databases.nb.connected === true;
    });
    await assertRows();
    nodes = [last, ...lost];
    for (const node of lost) node.start();
    await bed.untilServing(nodes);
    await assertRows();
  });

  test('a ConfigMap that was lost is made again from the cluster that serves', async () => {
    const plan = await bed.plan();
    await bed.forget();
    await until('the plan is back', async () => {
      const now = await bed.plan();
      return now?.generation === plan?.generation && Object.keys(now?.members ?? {}).length === 3;
    });
    assert.deepEqual((await bed.plan())?.clusters, plan?.clusters);
    await bed.untilServing(nodes);
    await assertRows();
  });

  test('a Node that is not ready for too long is replaced, and lives on as a stand-by', async () => {
    const [first, late, third] = nodes as [CentralNode, CentralNode, CentralNode];
    const spare = await bed.node(5);
    spare.start();
    await until('it stands by', () => spare.ready());
    await bed.notReady(late, 60 * 60_000);
    nodes = [first, third, spare];
    await bed.untilServing(nodes);
    await until(
      'the other one has put its copy aside',
      async () => (await bed.report(late))?.databases.nb.model === 'none',
    );
    await until('and stands by', () => late.ready());
    await bed.gone(late);
    await late.kill();
    await assertRows();
  });

  test('of two nodes one serves', async () => {
    const gone = nodes.find((node) => node !== nodes[0]) as CentralNode;
    await bed.gone(gone);
    const left = nodes.filter((node) => node !== gone);
    const [name = ''] = await until('one is left', async () => {
      const members = Object.keys((await bed.plan())?.members ?? {});
      return members.length === 1 ? members : undefined;
    });
    const all = nodes;
    nodes = left.filter((node) => node.name === name);
    await bed.untilServing(nodes);
    await assertRows();
    await gone.kill();
    const third = await bed.node(6);
    third.start();
    nodes = [...all.filter((node) => node !== gone), third];
    await bed.untilServing(nodes);
    await assertRows();
  });

  test('the disk of the leader is full: another one leads, and the member is back once there is room', async (t) => {
    const node = await bed.leader(nodes);
    await node.kill();
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=4m', 'tmpfs', node.data]);
    try {
      node.start();
      await bed.untilServing(nodes);
      await until('it leads', async () => {
        const leader = await bed.leader(nodes);
        if (leader !== node) leader.killServer('nb');
        return leader === node;
      });
      const filler = join(node.data, 'filler');
      assert.throws(() => writeFileSync(filler, Buffer.alloc(8 << 20)), /ENOSPC/);
      t.diagnostic(`longest write ${await writeDuring(100, () => Promise.resolve())} ms`);
      assert.match(
        (await bed.data())['status'] ?? '',
        new RegExp(`hardly any room is left on the disk of ${node.name}$`),
      );
      rmSync(filler);
      await bed.untilServing(nodes);
      await assertRows();
    } finally {
      await node.kill();
      execFileSync('umount', [node.data]);
      node.start();
    }
    await bed.untilServing(nodes);
    await assertRows();
  });

  test('TLS is switched on, and off again, while a node has an older copy', async () => {
    const last = nodes.at(-1) as CentralNode;
    const older = join(bed.dir, 'older');
    await last.kill();
    cpSync(last.data, older, { recursive: true });
    last.start();
    await bed.untilServing(nodes);
    await writeDuring(20, () => Promise.resolve());
    for (const scheme of ['ssl', 'tcp'] as const) {
      // One after the other, as a DaemonSet replaces its pods.
      for (const node of nodes) {
        await node.kill();
        if (node === last && scheme === 'ssl') {
          node.wipeDisk();
          cpSync(older, node.data, { recursive: true });
        }
        node.scheme = scheme;
        node.start();
        await until(`${node.name} is ready`, () => node.ready());
      }
      await bed.untilServing(nodes);
      await assertRows();
    }
  });

  test('a backup is restored', async () => {
    const node = nodes[1] as CentralNode;
    const known = (await bed.report(node))?.backups ?? [];
    const time = await until('a new backup', async () =>
      (await bed.report(node))?.backups.filter((each) => !known.includes(each)).at(-1),
    );
    const client = await bed.client(nodes);
    await insert(client, 'after-the-backup');
    await client.close();
    const before = await bed.plan();
    await bed.annotate({ 'isthmus.network/restore': `${node.name}/${time}` });
    await until('another generation', async () => (await bed.plan())?.generation === (before?.generation ?? 0) + 1);
    await bed.untilServing(nodes);
    await assertRows();
    const reader = await bed.client(nodes);
    assert.equal(copiesOf(reader).has('after-the-backup'), false);
    await reader.close();
  });
});
