/** Where the pinned Go programs are: ISTHMUS_TOOLS, or what the Makefile says. */
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
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
