/** Database files in the format of OVS. */
import assert from 'node:assert/strict';
import { appendFile, mkdtemp, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { readDatabaseFile } from './database-file.ts';

const ids = { cid: 'cef4525f-b47b-4d9a-ad53-7967d2ce22cc', sid: '7e18e293-0710-4e34-8906-5bb60333fced' };
const address = 'tcp:127.0.0.1:6643';
const header = {
  prev_data: [{ name: 'OVN_Northbound' }, { name: 'a","server_id":"x', note: '{"local_address":"y","prev_index":99}' }],
  server_id: ids.sid,
  cluster_id: ids.cid,
  local_address: address,
  prev_term: 3,
  prev_index: 40,
};

function record(value: unknown): string {
  const text = JSON.stringify(value);
  return `OVSDB CLUSTER ${text.length} ${'0'.repeat(40)}\n${text}\n`;
}

async function fileOf(t: TestContext, ...records: readonly unknown[]): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'isthmus-file-'));
  t.after(() => rm(dir, { recursive: true }));
  const path = join(dir, 'nb.db');
  await writeFile(path, records.map(record).join(''));
  return path;
}

async function endOf(path: string): Promise<unknown> {
  const file = await readDatabaseFile(path);
  return file.model === 'clustered' ? file.end : undefined;
}

test('a log ends at its last entry, or at the end of its snapshot', async (t) => {
  const path = await fileOf(t, header, { vote: ids.sid, term: 4 });
  assert.deepEqual(await readDatabaseFile(path), {
    model: 'clustered',
    ...ids,
    address,
    end: { term: 3, index: 40 },
  });
  const row = { Logical_Switch: { name: '"index":7' } };
  await appendFile(path, record({ term: 4, index: 41, data: [null, row] }));
  await appendFile(path, [{ commit_index: 41 }, { vote: ids.sid, term: 9 }].map(record).join(''));
  assert.deepEqual(await endOf(path), { term: 4, index: 41 });
  // Entries of a deposed leader are overwritten.
  await appendFile(path, record({ term: 9, index: 41 }));
  assert.deepEqual(await endOf(path), { term: 9, index: 41 });
});

test('a truncated entry does not count', async (t) => {
  const last = record({ term: 3, index: 42, data: [null, { Logical_Switch: {} }] });
  const path = await fileOf(t, header, { term: 3, index: 41 });
  await appendFile(path, last);
  assert.deepEqual(await endOf(path), { term: 3, index: 42 });
  await truncate(path, (await stat(path)).size - 5);
  assert.deepEqual(await endOf(path), { term: 3, index: 41 });
});

test('the last entry is found in front of records of any length', async (t) => {
  const votes = Array.from({ length: 2000 }, (_, term) => ({ vote: ids.sid, term }));
  const path = await fileOf(t, header, { term: 3, index: 41, data: [null, 'x'.repeat(300_000)] }, ...votes);
  assert.deepEqual(await endOf(path), { term: 3, index: 41 });
});

test('a server that no cluster admitted has no rows; an unreadable file is an error', async (t) => {
  const { server_id, local_address, cluster_id } = header;
  const asked = { server_id, local_address, cluster_id, remote_addresses: ['tcp:127.0.0.2:6643'] };
  const joining = { model: 'clustered', sid: ids.sid, address, cid: undefined, joins: ids.cid };
  assert.deepEqual(await readDatabaseFile(await fileOf(t, asked)), joining);
  await assert.rejects(readDatabaseFile(await fileOf(t, {})), /no server_id/);
  assert.deepEqual(await readDatabaseFile('/nonexistent/nb.db'), { model: 'none' });
});
