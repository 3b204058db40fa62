import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { openOvsdb, OvsdbConnectionLost } from './index.ts';
import { schemaFile, startOvsdbServer } from './testing.ts';

const run = promisify(execFile);

/** Makes `<name>.pem` and `<name>.key`, signed by `ca` or, without it, by itself. */
async function certify(dir: string, name: string, ca?: string): Promise<void> {
  const signer = ca === undefined ? [] : ['-CA', join(dir, `${ca}.pem`), '-CAkey', join(dir, `${ca}.key`)];
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', join(dir, `${name}.key`)];
  await run('openssl', [
    'req',
    '-x509',
    '-batch',
    '-days',
    '2',
    '-subj',
    `/CN=${name}`,
    ...key,
    '-out',
    join(dir, `${name}.pem`),
    ...signer,
  ]);
}

test('ssl: both sides authenticate; renewed files are used at the next attempt', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'ovsdb-'));
  t.after(() => rm(dir, { recursive: true }));
  await Promise.all([certify(dir, 'ca'), certify(dir, 'stranger')]);
  await Promise.all([certify(dir, 'server', 'ca'), certify(dir, 'client', 'ca'), certify(dir, 'wrong', 'stranger')]);
  const server = await startOvsdbServer({
    schema: schemaFile('ovn-nb'),
    remotes: ['pssl:0:127.0.0.1'],
    arguments: [
      `--private-key=${join(dir, 'server.key')}`,
      `--certificate=${join(dir, 'server.pem')}`,
      `--ca-cert=${join(dir, 'ca.pem')}`,
    ],
  });
  t.after(() => server.stop());
  const port = /listening on port (\d+)/.exec(await server.log())?.[1];

  const install = (name: string): Promise<unknown> =>
    Promise.all(['pem', 'key'].map((end) => copyFile(join(dir, `${name}.${end}`), join(dir, `own.${end}`))));
  await install('wrong');
  let renewed: Promise<unknown> | undefined;
  const client = await openOvsdb({
    remotes: [`ssl:127.0.0.1:${port}`],
    database: 'OVN_Northbound',
    monitor: { NB_Global: undefined },
    tls: { ca: join(dir, 'ca.pem'), cert: join(dir, 'own.pem'), key: join(dir, 'own.key') },
    onState: (_, reason) => {
      if (reason instanceof OvsdbConnectionLost) renewed ??= install('client');
    },
  });
  t.after(() => client.close());
  assert.notEqual(renewed, undefined, 'the certificate of a stranger was refused first');
  const [inserted] = await client.transact([{ op: 'insert', table: 'NB_Global', row: { name: 'over ssl' } }]);
  assert.equal(client.cache.table('NB_Global').rows.get(inserted?.uuid ?? '')?.['name'], 'over ssl');
});

test('ssl: a server that another CA signed is not trusted', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'ovsdb-'));
  t.after(() => rm(dir, { recursive: true }));
  await Promise.all([certify(dir, 'ca'), certify(dir, 'stranger')]);
  await Promise.all([certify(dir, 'server', 'stranger'), certify(dir, 'client', 'ca')]);
  const server = await startOvsdbServer({
    schema: schemaFile('ovn-nb'),
    remotes: ['pssl:0:127.0.0.1'],
    arguments: [
      `--private-key=${join(dir, 'server.key')}`,
      `--certificate=${join(dir, 'server.pem')}`,
      `--ca-cert=${join(dir, 'ca.pem')}`,
    ],
  });
  t.after(() => server.stop());
  const port = /listening on port (\d+)/.exec(await server.log())?.[1];
  const abort = new AbortController();
  const reasons: string[] = [];
  const opening = openOvsdb({
    remotes: [`ssl:127.0.0.1:${port}`],
    database: 'OVN_Northbound',
    monitor: {},
    tls: { ca: join(dir, 'ca.pem'), cert: join(dir, 'client.pem'), key: join(dir, 'client.key') },
    signal: abort.signal,
    onState: (_, reason) => {
      if (reason === undefined) return;
      reasons.push(reason.message);
      abort.abort();
    },
  });
  await assert.rejects(opening, OvsdbConnectionLost);
  assert.match(reasons[0] ?? '', /cannot connect to ssl:.*certificate/);
});
