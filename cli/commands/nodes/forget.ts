import { nodes, services } from '../../../lib/kube/resources.ts';
import { parseService } from '../../../lib/services/parse.ts';
import { refuseAppliedHook, removeLeases, removeServiceTraces, removeTraces } from '../../apply/nodes.ts';
import { command, type ExitCode } from '../../command/command.ts';
import { findServiceTraces, findTraces } from '../../plan/traces.ts';
import { hookFlags } from './hook-flags.ts';
import { clusterFlags, withCluster } from '../../watch/cluster.ts';

export const forget = command(
  {
    name: 'forget',
    operands: [],
    summary: 'remove what Isthmus wrote on Nodes and Services after an uninstallation; helm uninstall runs it',
    description:
      'Removes the annotations and labels that controller and daemons wrote on Nodes, and the condition NetworkUnavailable of\nthose that have left, and the leases of controller and agent; on Services the finalizer of load balancers, which would keep them from being deleted,\nthe annotation isthmus.network/endpoints-elsewhere and the conditions of Isthmus. Addresses of load balancers stay. While Isthmus is installed it writes them again.',
    examples: ['isthmus nodes forget'],
  },
  { ...hookFlags, ...clusterFlags },
  ({ flags, terminal }) =>
    withCluster(flags, terminal, async ({ client, namespace }): Promise<ExitCode> => {
      await refuseAppliedHook(client, namespace, flags.hookJob);
      const found = (await client.list(nodes)).flatMap((node) => findTraces(node) ?? []);
      for (const traces of found) await removeTraces(client, traces);
      const marked = (await client.list(services)).flatMap((raw) => findServiceTraces(parseService(raw)) ?? []);
      for (const traces of marked) await removeServiceTraces(client, traces);
      await removeLeases(client, namespace);
      terminal.out(`${found.length} nodes and ${marked.length} Services are clean of Isthmus\n`);
      return 0;
    }),
);
