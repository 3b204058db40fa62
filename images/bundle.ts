/**
 * Bundles each program of Isthmus into one file below `dist/isthmus` (or the folder given), with what cannot be bundled beside it: native
 * addons and .proto files; `dist/packages.list` names what is in them. `images/isthmus/Dockerfile` copies that folder to /opt/isthmus. Run on the architecture of
 * the image: the addons of this checkout's node_modules are taken.
 */
import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { build } from 'esbuild';

const root = join(import.meta.dirname, '..');
const out = resolve(process.argv[2] ?? join(root, 'dist/isthmus'));

const programs = {
  central: 'central/main.ts',
  controller: 'controller/main.ts',
  daemon: 'daemon/main.ts',
  'install-cni': 'daemon/install-cni.ts',
  interconnect: 'interconnect/main.ts',
  hub: 'interconnect/hub/main.ts',
  speaker: 'speaker/main.ts',
  isthmus: 'cli/main.ts',
} as const;

// An addon finds its .node file relative to its own file, so it cannot be bundled.
const addons = ['koffi', 'netlink'];
const addonPackages = [...addons, `@koromix/koffi-linux-${process.arch}`, 'node-gyp-build'];

await rm(out, { recursive: true, force: true });
await mkdir(out, { recursive: true });
const { metafile } = await build({
  absWorkingDir: root,
  metafile: true,
  entryPoints: Object.entries(programs).map(([name, path]) => ({ in: path, out: name })),
  outdir: out,
  outExtension: { '.js': '.mjs' },
  bundle: true,
  platform: 'node',
  target: 'node24',
  format: 'esm',
  // Code that several programs use is written once.
  splitting: true,
  chunkNames: 'shared/[hash]',
  external: addons,
  // CommonJS dependencies call require for modules of Node.js.
  banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" },
  legalComments: 'linked',
  logLevel: 'warning',
});
await cp(join(root, 'proto'), join(out, 'proto'), { recursive: true });
for (const name of addonPackages) {
  const from = join(root, 'node_modules', name);
  // A nested node_modules of an addon contains type declarations only.
  const isWanted = (path: string) => !path.slice(from.length).startsWith('/node_modules');
  await cp(from, join(out, 'node_modules', name), { recursive: true, filter: isWanted });
}
await writeFile(join(out, '..', 'packages.list'), await listPackages(Object.keys(metafile.inputs)));

/** For images/sbom: npm packages that are in a bundle or beside it, and Node.js itself. */
async function listPackages(paths: readonly string[]): Promise<string> {
  const bundled = paths.flatMap((path) => /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1] ?? []);
  const folders = new Set([...bundled, ...addonPackages.map((name) => join('node_modules', name))]);
  const lines = [...folders].map(async (folder) => {
    const text = await readFile(join(root, folder, 'package.json'), 'utf8');
    const { name, version } = JSON.parse(text) as { readonly name: string; readonly version: string };
    return `pkg:npm/${name.replace('@', '%40')}@${version} ${name} ${version}`;
  });
  const node = process.version.slice(1);
  return (
    [...new Set([...(await Promise.all(lines)), `pkg:generic/node@${node} node ${node}`])].sort().join('\n') + '\n'
  );
}
