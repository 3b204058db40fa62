/**
 * The way to a cluster's API server from outside its namespace: a pair of socat processes with a Unix socket between them
 * leads from a loopback port of the root namespace to one of the cluster's.
 */
import { join } from 'node:path';
import { startComponent } from './component.ts';
import type { ClusterLayout } from './layout.ts';

export interface Forward extends Pick<ClusterLayout, 'dir' | 'apiPort'> {
  readonly netns?: string;
  /** Port of the namespace's loopback. */
  readonly target: number;
}

/** The kernel's limit: one client opens more connections at once than socat's default backlog of five, and the excess is dropped. */
const queue = 'fork,backlog=4096';

export async function startForward({ dir, netns, apiPort, target }: Forward): Promise<void> {
  const socket = join(dir, 'api.sock');
  const inside = ['socat', `UNIX-LISTEN:${socket},${queue},unlink-early,mode=600`, `TCP4:127.0.0.1:${target},nodelay`];
  const listen = `TCP4-LISTEN:${String(apiPort)},bind=127.0.0.1,${queue},reuseaddr,nodelay`;
  await startComponent({ dir, name: 'api-inside', ...(netns === undefined ? {} : { netns }), argv: inside });
  await startComponent({ dir, name: 'api-outside', argv: ['socat', listen, `UNIX-CONNECT:${socket}`] });
}
