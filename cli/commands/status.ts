import { command } from '../command/command.ts';
import { statusOf } from '../plan/status.ts';
import { paintFor } from '../render/paint.ts';
import { renderStatus } from '../render/status.ts';
import { clusterFlags, outputFlags, readNear } from '../watch/cluster.ts';

export const status = command(
  {
    name: 'status',
    operands: [],
    summary: 'state of the connection to other clusters, problems first',
    description:
      'Shows this cluster’s membership: the hub, gateways, transit switches, other clusters and the paths to them.\nProblems come first, each with its remedy. Read-only. Exit code 1 if there is a problem, or if\nyou lack permission to read something.',
    examples: ['isthmus ic status', 'isthmus ic status -o json | jq .problems'],
  },
  { ...clusterFlags, ...outputFlags },
  async ({ flags, terminal }) => {
    const found = statusOf(await readNear(flags, terminal));
    const paint = paintFor(terminal.isColoured);
    terminal.out(
      flags.output === 'json' ? `${JSON.stringify(found, undefined, 2)}\n` : renderStatus(found, terminal.now(), paint),
    );
    return found.isWell ? 0 : 1;
  },
);
