import { command, durationMs, optionalDuration, type ExitCode, type Terminal } from '../../command/command.ts';
import { installedOf } from '../../plan/installation/installed.ts';
import { missingOf } from '../../plan/installation/missing.ts';
import { progressSince, type Printed } from '../../plan/installation/progress.ts';
import { renderInstalled } from '../../render/installed.ts';
import { paintFor } from '../../render/paint.ts';
import type { Installation } from '../../model/installation.ts';
import { clusterFlags, outputFlags, withCluster, type Cluster, type ClusterFlags } from '../../watch/cluster.ts';
import { followInstallation, readInstallation } from '../../watch/installation.ts';

export const status = command(
  {
    name: 'status',
    operands: [],
    summary: 'check after helm install whether Isthmus runs on every node',
    description:
      'Looks at the workloads of Isthmus in their newest version, at the nodes (NetworkUnavailable and Ready) and at the subnets\novn-default and join, and names what is missing with its cause. With --wait it waits until nothing is missing, and prints\nmeanwhile what is. Read-only. Exit code 1 if something is missing. For the network between clusters: isthmus ic status.',
    examples: ['isthmus status', 'isthmus status --wait', 'isthmus status --wait=10m -o json | jq .missing'],
  },
  {
    wait: optionalDuration(
      'wait until nothing is missing, five minutes at most, or as long as given: --wait=10m',
      '5m',
    ),
    ...clusterFlags,
    ...outputFlags,
  },
  ({ flags, terminal }) =>
    withCluster(flags, terminal, async (cluster): Promise<ExitCode> => {
      if (flags.wait !== undefined) await untilInstalled(cluster, flags, durationMs(flags.wait), terminal);
      // Read again after a wait, so that the result does not come from a watch cache.
      const installed = installedOf(await readNow(cluster, flags, terminal));
      const paint = paintFor(terminal.isColoured);
      const text =
        flags.output === 'json' ? JSON.stringify(installed, undefined, 2) : renderInstalled(installed, paint);
      terminal.out(`${text.trimEnd()}\n`);
      return installed.isWell ? 0 : 1;
    }),
);

function readNow(cluster: Cluster, flags: ClusterFlags, terminal: Terminal): Promise<Installation> {
  const late = AbortSignal.timeout(durationMs(flags.timeout));
  return readInstallation({ ...cluster, signal: AbortSignal.any([terminal.signal, late]) });
}

/** Returns when nothing is missing, or at the timeout. @throws the errors of reading: without permission to read, waiting would not help */
async function untilInstalled(
  cluster: Cluster,
  flags: ClusterFlags,
  waitMs: number,
  terminal: Terminal,
): Promise<void> {
  let printed: Printed = new Map();
  const isComplete = (installation: Installation): boolean => {
    const missing = missingOf(installation);
    const progress = progressSince(printed, missing);
    for (const line of progress.lines) terminal.note(`${line}\n`);
    printed = progress.printed;
    return missing.length === 0;
  };
  if (isComplete(await readNow(cluster, flags, terminal))) return;
  const late = AbortSignal.timeout(waitMs);
  const until = AbortSignal.any([terminal.signal, late]);
  const follower = followInstallation({ ...cluster, signal: until });
  try {
    await follower.synced;
    while (!isComplete(follower.current())) await follower.changed(until);
  } catch (error) {
    if (error !== late.reason) throw error;
  } finally {
    await follower.stop();
  }
}
