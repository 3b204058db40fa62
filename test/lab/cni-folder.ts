/**
 * The CNI files of a node's runtime: `<node>/cni/bin` with the plugins. The configuration in `<node>/cni/net.d` is
 * written by the node's daemon once the node is ready.
 */
import { mkdirSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { checkout, type NodeLayout } from './layout.ts';
import { tool } from './tools.ts';

const shim = join(checkout, 'daemon/shim/isthmus-cni');
/** containerd calls `loopback` before any network; the others may follow ours in a chain. */
const others = ['loopback', 'portmap', 'bandwidth', 'tuning'] as const;

/** Folder of the plugins: CNI_PATH of the node's runtime. */
export function cniBin(node: Pick<NodeLayout, 'dir'>): string {
  return join(node.dir, 'cni/bin');
}

/** Folder of the network configurations. */
export function cniConf(node: Pick<NodeLayout, 'dir'>): string {
  return join(node.dir, 'cni/net.d');
}

/** Creates the folder of plugins: ours as `isthmus`, and those of the pinned tools. @throws Error if a tool is missing */
export function makeCniBin(node: Pick<NodeLayout, 'dir'>): void {
  const folder = cniBin(node);
  mkdirSync(folder, { recursive: true });
  for (const [name, program] of [['isthmus', shim] as const, ...others.map((name) => [name, tool(name)] as const)]) {
    rmSync(join(folder, name), { force: true });
    symlinkSync(program, join(folder, name));
  }
}
