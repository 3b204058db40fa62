import { toggle } from '../../lib/run/flags.ts';
import { command, duration, durationMs, type ExitCode } from '../command/command.ts';
import { CommandFailed } from '../command/failure.ts';
import { deleteInterconnect, dropFinalizer, getInterconnect } from '../apply/membership.ts';
import { waitFor } from '../apply/wait.ts';
import { conditionOf } from '../model/snapshot.ts';
import { clusterFlags, withCluster } from '../watch/cluster.ts';
import { parseInterconnect } from '../watch/objects.ts';
import { identitySecret } from '../watch/secrets.ts';

export const leave = command(
  {
    name: 'leave',
    operands: [],
    summary: 'leave the network of clusters and remove every row of other clusters',
    description:
      'Deletes the Interconnect "default" and waits until it is gone: the agent removes its rows, informs the hub, and\nremoves its finalizer. Traffic to other clusters ends. While the hub is unreachable, it waits. --force is for a hub that is\ngone for good: it removes the finalizer without the hub, and lists what remains where. Exit code 1 if it is not gone in time.',
    examples: ['isthmus ic leave', 'isthmus ic leave --force'],
  },
  {
    wait: duration('how long to wait until it is gone', '60s'),
    force: toggle('do not wait for the hub, because it is gone for good'),
    ...clusterFlags,
  },
  ({ flags, terminal }) =>
    withCluster(flags, terminal, async ({ client, namespace }): Promise<ExitCode> => {
      const before = await getInterconnect(client);
      if (before === undefined) {
        terminal.out('this cluster is not a member\n');
        return 0;
      }
      const { spec, status } = parseInterconnect(before);
      // A cluster with a pending rename has not joined with the wanted name; its session shows that it is a member.
      const wasMember = ['Joined', 'HubReachable'].some(
        (type) => conditionOf(status.conditions, type)?.status === 'True',
      );
      const [name, hub] = 'code' in spec ? ['this cluster', 'the hub'] : [spec.clusterName, spec.hub];
      await deleteInterconnect(client);
      const gone = () => getInterconnect(client).then((raw) => (raw === undefined ? true : undefined));
      const patience = { timeoutMs: flags.force ? politeMs : durationMs(flags.wait), signal: terminal.signal };
      const left = await waitFor(gone, patience);
      if (left.value === true) {
        const after = `after ${(left.tookMs / 1000).toFixed(1)} s`;
        terminal.out(
          wasMember
            ? `${name} has left ${hub} ${after}\n`
            : `${name} had not joined; its Interconnect is gone ${after}\n`,
        );
        return 0;
      }
      const waiting = await getInterconnect(client);
      if (!flags.force) {
        const condition =
          waiting === undefined ? undefined : conditionOf(parseInterconnect(waiting).status.conditions, 'HubReachable');
        const why = condition?.status === 'False' ? `: ${condition.message ?? condition.reason ?? ''}` : '';
        const message = `${name} has not left after ${flags.wait}${why}; the agent keeps trying; use --force if the hub is gone for good`;
        throw new CommandFailed({ code: 'StillLeaving', message });
      }
      if (waiting !== undefined) await dropFinalizer(client, waiting);
      terminal.out(renderForced(name, hub, namespace));
      return 0;
    }),
);

/** With --force, the time that the hub gets for an orderly departure of the cluster. */
const politeMs = 5000;

function renderForced(name: string, hub: string, namespace: string): string {
  return `${[
    `${name} has left without ${hub}. What remains:`,
    `  at the hub, if it ever comes back: kubectl delete hubmember ${name} removes the membership and its rows (where it was renamed: the one whose column RENAMEDTO says ${name})`,
    `  here: the key of the membership. Remove it before you join again: kubectl -n ${namespace} delete secret ${identitySecret}`,
    '  here: rows of other clusters in OVN, until the agent runs and removes them',
  ].join('\n')}\n`;
}
