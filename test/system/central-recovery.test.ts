/** The databases on three nodes after the loss of their majority, their plan or disk space, a change of their scheme, and a restore. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cpSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { startApiServer, type TestApiServer } from '../../lib/kube/testing.ts';
import { CentralBed, copiesOf, insert, type CentralNode } from './central-bed.ts';
import { eventually, notYet } from '../../lib/testing-eventually.ts';

describe('databases on three nodes', () => {
  let api: TestApiServer;
  let bed: CentralBed;
  let nodes: CentralNode[];
  before(async () => {
    api = await startApiServer();
    bed = new CentralBed(api, 'cp');
    nodes = [];
    for (const number of [1, 2, 3]) nodes.push(await bed.node(number));
    for (const node of nodes) node.start();
    await bed.untilServing(nodes);
    await bed.writeDuring(nodes, 20, () => Promise.resolve());
  });
  after(async () => {
    await bed.close();
    await api.stop();
  });

  test('recover with the last of three members', async () => {
    const [last, ...lost] = nodes as [CentralNode, CentralNode, CentralNode];
    await Promise.all(lost.map((node) => node.kill()));
    await bed.annotate({ 'isthmus.network/recover': 'nobody' });
    await eventually('it is refused', async () => (await bed.data())['message']?.includes('nobody is not a node'));
    await bed.annotate({ 'isthmus.network/recover': last.name });
    nodes = [last];
    await eventually('it serves', async () => {
      const report = await bed.report(last);
      return report?.generation === 2 && report.databases.nb.connected === true;
    });
    await bed.assertRows(nodes);
    nodes = [last, ...lost];
    for (const node of lost) node.start();
    await bed.untilServing(nodes);
    await bed.assertRows(nodes);
  });

  test('are the source of a lost ConfigMap', async () => {
    const plan = await bed.plan();
    await bed.forget();
    await eventually('the plan is back', async () => {
      const now = await bed.plan();
      return now?.generation === plan?.generation && Object.keys(now?.members ?? {}).length === 3;
    });
    assert.deepEqual((await bed.plan())?.clusters, plan?.clusters);
    await bed.untilServing(nodes);
    await bed.assertRows(nodes);
  });

  test('replace a Node that is not ready for too long, which becomes a standby', async () => {
    const [first, late, third] = nodes as [CentralNode, CentralNode, CentralNode];
    const spare = await bed.node(5);
    spare.start();
    await eventually('it stands by', () => spare.ready());
    await bed.notReady(late, 60 * 60_000);
    nodes = [first, third, spare];
    await bed.untilServing(nodes);
    await eventually(
      'the other one has put its copy aside',
      async () => (await bed.report(late))?.databases.nb.model === 'none',
    );
    await eventually('and stands by', () => late.ready());
    await bed.gone(late);
    await late.kill();
    await bed.assertRows(nodes);
  });

  test('have one member while there are two nodes', async () => {
    const gone = nodes.find((node) => node !== nodes[0]) as CentralNode;
    await bed.gone(gone);
    const left = nodes.filter((node) => node !== gone);
    const [name = ''] = await eventually('one is left', async () => {
      const members = Object.keys((await bed.plan())?.members ?? {});
      return members.length === 1 ? members : undefined;
    });
    const all = nodes;
    nodes = left.filter((node) => node.name === name);
    await bed.untilServing(nodes);
    await bed.assertRows(nodes);
    await gone.kill();
    const third = await bed.node(6);
    third.start();
    nodes = [...all.filter((node) => node !== gone), third];
    await bed.untilServing(nodes);
    await bed.assertRows(nodes);
  });

  test('elect another leader when the leader’s disk is full, and get the member back when it has space', async (t) => {
    const node = await bed.leader(nodes);
    await node.kill();
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=4m', 'tmpfs', node.data]);
    try {
      node.start();
      await bed.untilServing(nodes);
      await eventually('it leads', async () => {
        const leader = await bed.leader(nodes);
        if (leader !== node) leader.killServer('nb');
        return leader === node;
      });
      const filler = join(node.data, 'filler');
      assert.throws(() => writeFileSync(filler, Buffer.alloc(8 << 20)), /ENOSPC/);
      t.diagnostic(`longest write ${await bed.writeDuring(nodes, 100, () => Promise.resolve())} ms`);
      const report = new RegExp(`the disk is nearly full on ${node.name}$`);
      await eventually('the full disk is reported', async () => {
        const status = (await bed.data())['status'] ?? '';
        return report.test(status) || notYet(status);
      });
      rmSync(filler);
      await bed.untilServing(nodes);
      await bed.assertRows(nodes);
    } finally {
      await node.kill();
      // The servers end a moment after the process group that they belong to.
      await eventually('the disk is not in use', () => execFileSync('umount', [node.data], { stdio: 'pipe' }));
      node.start();
    }
    await bed.untilServing(nodes);
    await bed.assertRows(nodes);
  });

  test('switch TLS on and off while a node has an older copy', async () => {
    const last = nodes.at(-1) as CentralNode;
    const older = join(bed.dir, 'older');
    await last.kill();
    cpSync(last.data, older, { recursive: true });
    last.start();
    await bed.untilServing(nodes);
    await bed.writeDuring(nodes, 20, () => Promise.resolve());
    for (const scheme of ['ssl', 'tcp'] as const) {
      // One node after the other, like a DaemonSet replaces its pods.
      for (const node of nodes) {
        await node.kill();
        if (node === last && scheme === 'ssl') {
          node.wipeDisk();
          cpSync(older, node.data, { recursive: true });
        }
        node.scheme = scheme;
        node.start();
        await eventually(`${node.name} is ready`, () => node.ready());
      }
      await bed.untilServing(nodes);
      await bed.assertRows(nodes);
    }
  });

  test('are restored from a backup', async () => {
    const node = nodes[1] as CentralNode;
    const known = (await bed.report(node))?.backups ?? [];
    const time = await eventually('a new backup', async () =>
      (await bed.report(node))?.backups.filter((each) => !known.includes(each)).at(-1),
    );
    const client = await bed.client(nodes);
    await insert(client, 'after-the-backup');
    await client.close();
    const before = await bed.plan();
    await bed.annotate({ 'isthmus.network/restore': `${node.name}/${time}` });
    await eventually(
      'another generation',
      async () => (await bed.plan())?.generation === (before?.generation ?? 0) + 1,
    );
    await bed.untilServing(nodes);
    await bed.assertRows(nodes);
    const reader = await bed.client(nodes);
    assert.equal(copiesOf(reader).has('after-the-backup'), false);
    await reader.close();
  });
});
