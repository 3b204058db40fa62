import assert from 'node:assert/strict';
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { CredentialFiles } from './credential-files.ts';

test('key and certificate change together, and no former file stays', async (t) => {
  const parent = await mkdtemp(join(tmpdir(), 'isthmus-credentials-'));
  t.after(() => rm(parent, { recursive: true }));
  const files = new CredentialFiles(join(parent, 'run', 'tls'));
  assert.equal(await files.read('tls.key'), undefined);
  await files.write({ 'tls.key': 'key 1', 'tls.crt': 'certificate 1' });
  await files.write({ 'tls.key': 'key 2', 'tls.crt': 'certificate 2' });
  const again = new CredentialFiles(join(parent, 'run', 'tls'));
  assert.deepEqual([await again.read('tls.key'), await again.read('tls.crt')], ['key 2', 'certificate 2']);
  assert.equal((await stat(again.path('tls.key'))).mode & 0o077, 0, 'readable by the owner alone');
  assert.equal((await readdir(join(parent, 'run'))).length, 2, 'the link and one folder');
  await again.remove();
  await again.remove();
  assert.deepEqual(await readdir(join(parent, 'run')), []);
});
