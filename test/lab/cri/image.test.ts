import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { imageArchive, imageName } from './image.ts';
import { tar } from './tar.ts';

const dir = mkdtempSync(join(tmpdir(), 'image-'));
after(() => rmSync(dir, { recursive: true }));

/** Unpacks with the machine's own tar; the folder. */
function unpack(name: string, archive: Buffer): string {
  const folder = join(dir, name);
  mkdirSync(folder);
  execFileSync('tar', ['-xf', '-', '-C', folder], { input: archive });
  return folder;
}

interface Descriptor {
  readonly digest: string;
  readonly size: number;
  readonly annotations?: Readonly<Record<string, string>>;
}

test('an archive contains the given files, folders and links', () => {
  const content = Buffer.from('x'.repeat(513));
  const folder = unpack(
    'plain',
    tar([
      { path: 'bin', kind: 'folder', mode: 0o755 },
      { path: 'bin/tool', kind: 'file', mode: 0o755, content },
      { path: 'bin/empty', kind: 'file', mode: 0o600, content: Buffer.alloc(0) },
      { path: 'bin/link', kind: 'link', target: 'tool' },
    ]),
  );
  assert.deepEqual(readFileSync(join(folder, 'bin/link')), content);
  const listed = execFileSync('ls', ['-ln', '--time-style=+%s', join(folder, 'bin')], { encoding: 'utf8' });
  assert.match(listed, /-rwxr-xr-x +1 0 +0 +513 0 tool/);
  assert.match(listed, /-rw------- +1 0 +0 +0 0 empty/);
  assert.throws(() => tar([{ path: 'a'.repeat(101), kind: 'folder', mode: 0o755 }]), /100 bytes/);
});

test('the image: every blob has the name and the size that others call it by, and equal input gives equal bytes', () => {
  const archive = imageArchive(Buffer.from('program'), ['sh', 'busybox', 'ls']);
  assert.ok(archive.equals(imageArchive(Buffer.from('program'), ['sh', 'busybox', 'ls'])));
  const folder = unpack('image', archive);
  const read = ({ digest, size }: Descriptor): Buffer => {
    const blob = readFileSync(join(folder, 'blobs', digest.replace(':', '/')));
    assert.equal(blob.length, size);
    assert.equal(`sha256:${createHash('sha256').update(blob).digest('hex')}`, digest);
    return blob;
  };
  const index = JSON.parse(readFileSync(join(folder, 'index.json'), 'utf8')) as { manifests: Descriptor[] };
  const [manifest] = index.manifests;
  assert.ok(manifest);
  assert.equal(manifest.annotations?.['io.containerd.image.name'], imageName);
  const { config, layers } = JSON.parse(read(manifest).toString()) as { config: Descriptor; layers: Descriptor[] };
  const { rootfs } = JSON.parse(read(config).toString()) as { rootfs: { diff_ids: string[] } };
  assert.deepEqual(
    rootfs.diff_ids,
    layers.map(({ digest }) => digest),
  );
  const root = unpack('root', read(layers[0] as Descriptor));
  assert.deepEqual(readdirSync(join(root, 'bin')), ['answer', 'busybox', 'ls', 'pause', 'sh']);
  assert.equal(readFileSync(join(root, 'bin/busybox'), 'utf8'), 'program');
});

test('the answer is a whole HTTP response with the name of the pod, after the whole request', () => {
  const layer = unpack('scripts', imageArchive(Buffer.from('program'), []));
  const scripts = readdirSync(join(layer, 'blobs/sha256'))
    .map((name) => readFileSync(join(layer, 'blobs/sha256', name)))
    .find((blob) => blob.includes('bin/answer'));
  const root = unpack('answer', scripts ?? Buffer.alloc(0));
  const script = join(dir, 'answer.sh');
  writeFileSync(script, readFileSync(join(root, 'bin/answer')));
  const answered = execFileSync('busybox', ['sh', script], {
    input: 'GET /any HTTP/1.1\r\nHost: x\r\n\r\n',
    env: { POD_NAME: 'web-1', PATH: process.env['PATH'] },
    encoding: 'utf8',
  });
  assert.match(answered, /^HTTP\/1\.0 200 OK\r\n(?:.+\r\n)*Content-Length: 6\r\n(?:.+\r\n)*\r\nweb-1\n$/);
});
