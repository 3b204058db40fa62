import { askToLeave, readDeparting, readInstallation, refuseAppliedHook, type Departing } from '../../apply/nodes.ts';
import { waitFor } from '../../apply/wait.ts';
import { command, duration, durationMs, type ExitCode } from '../../command/command.ts';
import { CommandFailed } from '../../command/failure.ts';
import { milliseconds } from '../../model/units.ts';
import { hookFlags } from './hook-flags.ts';
import { clusterFlags, withCluster } from '../../watch/cluster.ts';

export const leave = command(
  {
    name: 'leave',
    operands: [],
    summary: 'release all nodes before an uninstallation; helm uninstall runs it',
    description:
      'Has the daemon of every node remove the CNI configuration, move interfaces out of bridges with their addresses and\nroutes, and remove routes, rules and ports, and waits until all daemons report completion. This ends the network of all\npods. Nodes whose kubelet does not answer, and nodes without a daemon, are listed and not waited for.\nExit code 1 if a node has not left when the time is over; its condition NetworkUnavailable has the reason.',
    examples: ['isthmus nodes leave', 'isthmus nodes leave --wait 5m'],
  },
  {
    wait: duration('how long to wait for the nodes', '90s'),
    ...hookFlags,
    ...clusterFlags,
  },
  ({ flags, terminal }) =>
    withCluster(flags, terminal, async ({ client, namespace }): Promise<ExitCode> => {
      await refuseAppliedHook(client, namespace, flags.hookJob);
      await askToLeave(client, await readInstallation(client, namespace));
      let last: readonly Departing[] = [];
      const look = async (): Promise<readonly Departing[] | undefined> => {
        last = await readDeparting(client, namespace);
        return last.some(({ state }) => state === 'waiting') ? undefined : last;
      };
      const { value, tookMs } = await waitFor(look, { timeoutMs: durationMs(flags.wait), signal: terminal.signal });
      for (const { node, why } of last.filter(({ state }) => state === 'silent'))
        terminal.note(`${node} is not released: ${why}\n`);
      if (value === undefined) {
        const waiting = last.filter(({ state }) => state === 'waiting').map(({ node, why }) => `${node} (${why})`);
        const message = `not released after ${flags.wait}: ${waiting.join(', ')}; try again, or uninstall with helm's --no-hooks and clean up these nodes by hand`;
        throw new CommandFailed({ code: 'NodesWaiting', message });
      }
      const left = value.filter(({ state }) => state === 'left').length;
      terminal.out(`${left} of ${value.length} nodes were released after ${milliseconds(tookMs)}\n`);
      return 0;
    }),
);
