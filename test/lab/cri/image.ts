/**
 * The image that pods of the lab run, sandbox and containers alike: this machine's static busybox in one layer, as an
 * OCI layout in an archive that containerd imports. No registry has a part in it. The same busybox gives the same bytes.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { tar, type TarEntry } from './tar.ts';

/** The name of the image in containerd. The domain does not exist, so the image cannot be pulled. */
export const imageName = 'isthmus.test/busybox:lab';
/** The program of a sandbox: waits for SIGTERM or SIGINT. */
const pauseCommand = '/bin/pause';
/** Answers any HTTP request on port 8080 with the pod's name, as all pods of the lab do. */
export const answerCommand = ['/bin/nc', '-ll', '-p', '8080', '-e', '/bin/answer'] as const;

const busybox = '/bin/busybox';

// A process with the pid 1 has no default action for signals: without a trap only SIGKILL would end it.
const pauseScript = `#!/bin/sh
trap 'exit 0' TERM INT
sleep infinity &
wait
`;
// The request is read to its blank line: closing with some of it unread would reset the connection under the answer.
const answerScript = String.raw`#!/bin/sh
return=$(printf '\r')
while IFS= read -r line && [ -n "$line" ] && [ "$line" != "$return" ]; do :; done
printf 'HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s\n' \
  $((${'$'}{#POD_NAME} + 1)) "$POD_NAME"
`;

/** The archive with the image of this machine's busybox. @throws Error where Debian's busybox-static is not installed. */
export function busyboxImage(): Buffer {
  const program = ['/usr/bin/busybox', busybox].find((path) => existsSync(path));
  if (program === undefined) throw new Error('there is no busybox here: install busybox-static (`make setup`)');
  const applets = execFileSync(program, ['--list'], { encoding: 'utf8' }).split('\n').filter(Boolean);
  return imageArchive(readFileSync(program), applets);
}

/** Pure. `applets` are the names that the program goes by. */
export function imageArchive(program: Buffer, applets: readonly string[]): Buffer {
  const layer = tar(layerEntries(program, applets));
  const config = json({
    architecture: process.arch === 'arm64' ? 'arm64' : 'amd64',
    os: 'linux',
    config: { Entrypoint: [pauseCommand], Env: ['PATH=/bin'] },
    rootfs: { type: 'layers', diff_ids: [digest(layer)] },
  });
  const manifest = json({
    schemaVersion: 2,
    mediaType: 'application/vnd.oci.image.manifest.v1+json',
    config: descriptor('application/vnd.oci.image.config.v1+json', config),
    layers: [descriptor('application/vnd.oci.image.layer.v1.tar', layer)],
  });
  const index = json({
    schemaVersion: 2,
    manifests: [
      {
        ...descriptor('application/vnd.oci.image.manifest.v1+json', manifest),
        annotations: { 'io.containerd.image.name': imageName },
      },
    ],
  });
  return tar([
    file('oci-layout', json({ imageLayoutVersion: '1.0.0' })),
    file('index.json', index),
    folder('blobs'),
    folder('blobs/sha256'),
    ...[layer, config, manifest].map((blob) => file(`blobs/${digest(blob).replace(':', '/')}`, blob)),
  ]);
}

function layerEntries(program: Buffer, applets: readonly string[]): TarEntry[] {
  const folders = ['bin', 'dev', 'etc', 'proc', 'root', 'sys', 'tmp'].map(folder);
  const scripts = [
    { path: 'bin/answer', text: answerScript },
    { path: 'bin/pause', text: pauseScript },
  ].map(({ path, text }) => file(path, Buffer.from(text), 0o755));
  const links = applets
    .filter((applet) => applet !== 'busybox')
    .toSorted()
    .map((applet): TarEntry => ({ path: `bin/${applet}`, kind: 'link', target: busybox }));
  const users = file('etc/passwd', Buffer.from('root:x:0:0:root:/root:/bin/sh\n'));
  return [...folders, file('bin/busybox', program, 0o755), ...links, ...scripts, users];
}

function folder(path: string): TarEntry {
  return { path, kind: 'folder', mode: 0o755 };
}

function file(path: string, content: Buffer, mode = 0o644): TarEntry {
  return { path, kind: 'file', mode, content };
}

function json(value: object): Buffer {
  return Buffer.from(JSON.stringify(value));
}

function digest(blob: Buffer): string {
  return `sha256:${createHash('sha256').update(blob).digest('hex')}`;
}

function descriptor(mediaType: string, blob: Buffer): object {
  return { mediaType, digest: digest(blob), size: blob.length };
}
