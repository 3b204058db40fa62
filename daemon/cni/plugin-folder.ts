/** The node's folder of CNI plugins. A file in that folder records which plugins Isthmus has installed, so that only these are removed again. */
import { chmodSync, copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { writeAtomically } from './conflist.ts';

const ours = 'isthmus';
/** Names of installed plugins, one per line. */
const record = '.isthmus-plugins';

/** Plugins that are already there are the administrator's choice and stay; our own plugin is always the one of this release. */
export function installPlugins(from: string, to: string, wanted: ReadonlySet<string>): readonly string[] {
  mkdirSync(to, { recursive: true });
  const names = readdirSync(from).filter((name) => name === ours || (wanted.has(name) && !existsSync(join(to, name))));
  const installed = new Set([...recorded(to), ...names]);
  writeAtomically(join(to, record), [...installed].map((name) => `${name}\n`).join(''));
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
  // Only names are accepted, not paths, although a user who can write here is root anyway.
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter((name) => /^[a-z][a-z0-9-]*$/.test(name));
}

/** Replaces the file in one step, because a runtime may be reading it. */
function put(from: string, to: string): void {
  const next = `${to}.isthmus-new`;
  copyFileSync(from, next);
  chmodSync(next, 0o755);
  renameSync(next, to);
}
