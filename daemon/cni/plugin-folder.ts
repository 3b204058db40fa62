/**
 * The node's folder of CNI plugins: what of it Isthmus brought stands in a file of the folder itself, so that just that is taken away again.
 */
import { chmodSync, copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { writeWhole } from './conflist.ts';

const ours = 'isthmus';
/** Names of plugins, one in a line. */
const record = '.isthmus-plugins';

/** The node's own plugins, where there are some, are those its administrator chose; ours is always the one of this release. */
export function installPlugins(from: string, to: string, wanted: ReadonlySet<string>): readonly string[] {
  mkdirSync(to, { recursive: true });
  const names = readdirSync(from).filter((name) => name === ours || (wanted.has(name) && !existsSync(join(to, name))));
  const brought = new Set([...recorded(to), ...names]);
  writeWhole(join(to, record), [...brought].map((name) => `${name}\n`).join(''));
  for (const name of names) put(join(from, name), join(to, name));
  return names;
}

export function removePlugins(folder: string): void {
  for (const name of recorded(folder)) rmSync(join(folder, name), { force: true });
  rmSync(join(folder, record), { force: true });
}

function recorded(folder: string): readonly string[] {
  const file = join(folder, record);
  if (!existsSync(file)) return [];
  // Whoever can write into this folder is root everywhere, but a name is no path.
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter((name) => /^[a-z][a-z0-9-]*$/.test(name));
}

/** A runtime may be reading the files: each is replaced in one step. */
function put(from: string, to: string): void {
  const next = `${to}.isthmus-new`;
  copyFileSync(from, next);
  chmodSync(next, 0o755);
  renameSync(next, to);
}
