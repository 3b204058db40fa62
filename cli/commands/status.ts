import { toggle } from '../../lib/run/flags.ts';
import { command, durationMs, type ExitCode, type Terminal } from '../command/command.ts';
import { meshOf } from '../plan/mesh/mesh.ts';
import { statusOf } from '../plan/status.ts';
import { renderMesh } from '../render/mesh/mesh.ts';
import { paintFor } from '../render/paint.ts';
import { renderStatus } from '../render/status.ts';
import { clusterFlags, outputFlags, readNear, withCluster, type ClusterFlags } from '../watch/cluster.ts';
import { readMesh } from '../watch/mesh.ts';

export const status = command(
  {
    name: 'status',
    operands: [],
    summary: 'state of the connection to other clusters, problems first; with --all of all members of the hub',
    description:
      'Shows this cluster’s membership: the hub, gateways, transit switches, other clusters and the paths to them.\nProblems come first, each with its remedy. With --all, in the cluster of the hub: every member (session, release, prefixes,\nexports, rejections) and every pair of members, with the state of their paths as each of the two last reported it.\nRead-only. Exit code 1 if there is a problem, or if you lack permission to read something.',
    examples: [
      'isthmus ic status',
      'isthmus ic status -o json | jq .problems',
      'isthmus ic status --all --context hub -o json | jq -r \'.pairs[] | select(.state != "up") | .clusters | join(" ")\'',
    ],
  },
  { all: toggle('all members of the hub in this cluster, and all pairs of them'), ...clusterFlags, ...outputFlags },
  async ({ flags, terminal }) => {
    if (flags.all) return await showAll(flags, terminal);
    const near = await readNear(flags, terminal);
    const found = statusOf(near);
    const paint = paintFor(terminal.isColoured);
    terminal.out(
      flags.output === 'json' ? `${JSON.stringify(found, undefined, 2)}\n` : renderStatus(found, terminal.now(), paint),
    );
    return found.isWell ? 0 : 1;
  },
);

function showAll(flags: ClusterFlags & { readonly output: string }, terminal: Terminal): Promise<ExitCode> {
  return withCluster(flags, terminal, async ({ client, label, namespace }) => {
    const late = AbortSignal.timeout(durationMs(flags.timeout));
    const signal = AbortSignal.any([terminal.signal, late]);
    const mesh = meshOf(await readMesh({ client, label, namespace, nowMs: terminal.now(), signal }));
    const text = () => renderMesh(mesh, terminal.now(), paintFor(terminal.isColoured));
    terminal.out(flags.output === 'json' ? `${JSON.stringify(mesh, undefined, 2)}\n` : text());
    return mesh.isWell ? 0 : 1;
  });
}
