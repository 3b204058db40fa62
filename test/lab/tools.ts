/** Folder of the pinned Go programs (ISTHMUS_TOOLS or the Makefile's default), and other files shared by all labs. */
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { checkout } from './layout.ts';

let folder: string | undefined;

/** The path of kube-apiserver, kube-controller-manager, kubectl, helm, gobgpd or gobgp. @throws Error telling how to build it. */
export function tool(name: string): string {
  folder ??=
    process.env['ISTHMUS_TOOLS'] ??
    execFileSync('make', ['-s', '-C', checkout, 'tools-path'], { encoding: 'utf8' }).trim();
  const path = join(folder, name);
  if (!existsSync(path)) throw new Error(`${path} is missing: build the pinned tools with \`make tools\``);
  return path;
}

/** A folder of things that are made once, for all labs and checkouts. */
export function cacheFolder(name: string): string {
  return join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'isthmus', name);
}
