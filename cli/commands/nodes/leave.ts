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
    summary: 'give all nodes back, before helm uninstall, which does it by itself',
    description:
      'Asks the daemon of every node to take the CNI configuration away, to move interfaces out of bridges with their\naddresses and routes, and to take routes, rules and ports away, and waits until all have said that it is done. The network of\nall pods ends with it. Nodes whose kubelet does not answer, and those without a daemon, are named and not waited for.\nExit code 1 where a node has not left when the time is over; its condition NetworkUnavailable says why.',
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
        terminal.note(`${node} is left as it is: ${why}\n`);
      if (value === undefined) {
        const waiting = last.filter(({ state }) => state === 'waiting').map(({ node, why }) => `${node} (${why})`);
        const message = `not given back after ${flags.wait}: ${waiting.join(', ')}; try again, or uninstall with helm's --no-hooks and give these nodes back by hand`;
        throw new CommandFailed({ code: 'NodesWaiting', message });
      }
      const left = value.filter(({ state }) => state === 'left').length;
      terminal.out(`${left} of ${value.length} nodes are given back after ${milliseconds(tookMs)}\n`);
      return 0;
    }),
);
