import { nodes } from '../../../lib/kube/resources.ts';
import { refuseAppliedHook, removeLeases, removeTraces } from '../../apply/nodes.ts';
import { command, type ExitCode } from '../../command/command.ts';
import { findTraces } from '../../plan/traces.ts';
import { hookFlags } from './hook-flags.ts';
import { clusterFlags, withCluster } from '../../watch/cluster.ts';

export const forget = command(
  {
    name: 'forget',
    operands: [],
    summary: 'remove what Isthmus wrote on Nodes after an uninstallation; helm uninstall runs it',
    description:
      'Removes the annotations and labels that controller and daemons wrote on Nodes, and the condition NetworkUnavailable of\nthose that have left, and the leases of controller and agent. While Isthmus is installed it writes them again.',
    examples: ['isthmus nodes forget'],
  },
  { ...hookFlags, ...clusterFlags },
  ({ flags, terminal }) =>
    withCluster(flags, terminal, async ({ client, namespace }): Promise<ExitCode> => {
      await refuseAppliedHook(client, namespace, flags.hookJob);
      const found = (await client.list(nodes)).flatMap((node) => findTraces(node) ?? []);
      for (const traces of found) await removeTraces(client, traces);
      await removeLeases(client, namespace);
      terminal.out(`${found.length} nodes are clean of Isthmus\n`);
      return 0;
    }),
);
