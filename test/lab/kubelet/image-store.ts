/**
 * The images that nodes with kubelets have before they start: containerd's own folder, made once for the same images and kept in the
 * cache. A node's folder has the same files by hard links, since containerd never writes into an image's; its databases are copied.
 */
import { createHash } from 'node:crypto';
import {
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { killComponent, pidOf, startAndWait, stateOf } from '../component.ts';
import { containerdConfig, criNamespace } from '../containerd.ts';
import { busyboxImage } from '../cri/image.ts';
import { checkout } from '../layout.ts';
import { run, tryRun } from '../run.ts';
import { cacheFolder } from '../tools.ts';
import { dnsVersion } from './dns.ts';
import { eventually, notYet } from '../../../lib/testing-eventually.ts';

/** Where `images/build.sh` has written the images as files (ARCHIVES). */
export function archiveFolder(): string {
  return cacheFolder('images');
}

/** The archives of the chart's own images and CoreDNS. @throws Error that says how to make them */
function archives(): string[] {
  const { appVersion, annotations } = parse(readFileSync(join(checkout, 'charts/isthmus/Chart.yaml'), 'utf8')) as {
    appVersion: string;
    annotations: Readonly<Record<string, string>>;
  };
  const names = [
    `isthmus-${appVersion}`,
    `isthmus-ovn-${annotations['isthmus.network/ovn-image-tag'] ?? ''}`,
    `coredns-${dnsVersion()}`,
  ];
  const files = names.map((name) => join(archiveFolder(), `${name}.tar`));
  const missing = files.find((file) => !existsSync(`${file}.inputs`));
  if (missing !== undefined) throw new Error(`there is no image ${missing}: run \`make cluster-setup\``);
  return files;
}

/** The folder of a containerd with all images; created if missing. */
export async function imageStore(): Promise<string> {
  const files = archives();
  const busybox = busyboxImage();
  const hash = createHash('sha256').update(busybox);
  for (const file of files) hash.update(readFileSync(`${file}.inputs`));
  const parent = cacheFolder('image-stores');
  const store = join(parent, hash.digest('hex').slice(0, 16));
  if (existsSync(store)) return store;
  mkdirSync(parent, { recursive: true });
  // Leftovers of other versions of the images are no longer used.
  for (const name of readdirSync(parent))
    if (/^[0-9a-f]{16}$/.test(name)) rmSync(join(parent, name), { recursive: true });
  const making = mkdtempSync(join(parent, 'new-'));
  try {
    await importAll(making, files, busybox);
    renameSync(join(making, 'root'), store);
  } catch (error) {
    // Another lab has created it meanwhile.
    if (!existsSync(store)) throw error;
  } finally {
    rmSync(making, { recursive: true, force: true });
  }
  return store;
}

async function importAll(dir: string, files: readonly string[], busybox: Buffer): Promise<void> {
  const [config, socket] = [join(dir, 'config.toml'), join(dir, 'socket')];
  const [none, state, root] = [join(dir, 'none'), join(dir, 'state'), join(dir, 'root')];
  writeFileSync(config, containerdConfig({ root, state, socket, cniBin: none, cniConf: none, hasOwnNamespaces: true }));
  writeFileSync(join(dir, 'busybox.tar'), busybox);
  const component = { dir, name: 'containerd', argv: ['containerd', '--config', config] };
  const ctr = ['ctr', '--address', socket, '--namespace', criNamespace];
  const answers = async (): Promise<true> => {
    await run([...ctr, 'version']);
    return true;
  };
  try {
    await startAndWait(component, answers);
    for (const file of [join(dir, 'busybox.tar'), ...files])
      await run([...ctr, 'images', 'import', file], { timeoutMs: 600_000 });
    const pid = pidOf(component);
    if (pid !== undefined) process.kill(pid, 'SIGTERM');
    await eventually('the end of that containerd', () => stateOf(component) === 'dead' || notYet('it lives'));
  } finally {
    await killComponent(component);
  }
}

/** Gives a node the images, as its containerd's folder. */
export async function fillStore(store: string, folder: string): Promise<void> {
  // Hard links end at the border of a file system.
  const linked = await tryRun(['cp', '-al', store, folder]);
  if (linked.code !== 0) {
    rmSync(folder, { recursive: true, force: true });
    await run(['cp', '-a', store, folder], { timeoutMs: 600_000 });
  }
  const databases = globSync('io.containerd.*/*.db', { cwd: store });
  for (const path of databases) {
    rmSync(join(folder, path));
    await run(['cp', '-a', join(store, path), join(folder, path)]);
  }
}
