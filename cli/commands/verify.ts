import { toggle } from '../../lib/run/flags.ts';
import { command, duration, durationMs, type ExitCode, type Terminal } from '../command/command.ts';
import { CommandFailed } from '../command/failure.ts';
import { setDrain } from '../apply/drain.ts';
import { drainable, exerciseGateways } from '../apply/exercise.ts';
import { verify as judge, type Check } from '../plan/verify.ts';
import { paintFor } from '../render/paint.ts';
import { renderChecks } from '../render/verification.ts';
import {
  clusterFlags,
  outputFlags,
  peerFlags,
  readCluster,
  readFar,
  readNear,
  withCluster,
  type ClusterFlags,
} from '../watch/cluster.ts';
import { readDatabases } from '../watch/databases.ts';
import { databaseFlags } from './diagnose.ts';

export const verify = command(
  {
    name: 'verify',
    operands: [],
    summary: 'check that everything works and that both sides agree',
    description:
      'Checks all conditions, ports, paths, tunnels and MTUs. With --peer-kubeconfig or --peer-context it also checks that each\nside uses every prefix the other offers; with --nb and --sb it checks that no rows of removed clusters remain. It creates\nno pods and sends no traffic. --disruptive also drains each gateway in turn, checks that a path to every cluster stays up,\nand undrains it. Without it, nothing is written (but see --nb). Exit code 1 if a check failed.',
    examples: ['isthmus ic verify --peer-context west', 'isthmus ic verify --disruptive'],
  },
  {
    disruptive: toggle('drain each gateway in turn; traffic moves and must not be lost'),
    wait: duration('with --disruptive: timeout for each move', '60s'),
    ...peerFlags,
    ...databaseFlags,
    ...clusterFlags,
    ...outputFlags,
  },
  async ({ flags, terminal }): Promise<ExitCode> => {
    const timeoutMs = durationMs(flags.timeout);
    const [near, far, ovn] = await Promise.all([
      readNear(flags, terminal),
      readFar(flags, terminal),
      readDatabases({ nb: flags.nb ?? [], sb: flags.sb ?? [], timeoutMs, signal: terminal.signal }),
    ]);
    const still = judge({ ...near, ovn }, far);
    const isWell = still.every((check) => check.isWell);
    const moved = flags.disruptive ? await exercise(flags, terminal, isWell) : [];
    const checks = [...still, ...moved];
    const paint = paintFor(terminal.isColoured);
    terminal.out(
      flags.output === 'json' ? `${JSON.stringify({ checks }, undefined, 2)}\n` : renderChecks(checks, paint),
    );
    return checks.every((check) => check.isWell) ? 0 : 1;
  },
);

async function exercise(
  flags: ClusterFlags & { readonly wait: string },
  terminal: Terminal,
  isWell: boolean,
): Promise<readonly Check[]> {
  if (!isWell)
    throw new CommandFailed({
      code: 'NotWell',
      message:
        '--disruptive needs a network without problems: run isthmus ic verify without it, and fix what it reports',
    });
  return await withCluster(flags, terminal, async (cluster) => {
    const nodes = drainable(await readCluster(cluster, flags, terminal));
    if (nodes.length === 0)
      throw new CommandFailed({
        code: 'LastGateway',
        message: '--disruptive needs two gateways, none of them drained; otherwise a drain would cut the cluster off',
      });
    const bench = {
      look: () => readCluster(cluster, flags, terminal),
      drain: (node: string, drain: boolean) => setDrain(cluster.client, node, drain),
      note: terminal.note,
    };
    return await exerciseGateways(bench, nodes, { timeoutMs: durationMs(flags.wait), signal: terminal.signal });
  });
}
