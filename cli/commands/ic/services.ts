import { CommandFailed } from '../../command/failure.ts';
import { absenceOf, sharedOf } from '../../plan/mcs/services.ts';
import { renderShared } from '../../render/mcs/services.ts';
import { paintFor } from '../../render/paint.ts';
import { command, durationMs, type ExitCode } from '../../command/command.ts';
import { clusterFlags, outputFlags, withCluster } from '../../watch/cluster.ts';
import { readSharedServices } from '../../watch/shared-services.ts';
import { parseServiceName } from '../why/service.ts';

export const services = command(
  {
    name: 'services',
    operands: ['[NAMESPACE/NAME]'],
    summary: 'Services that clusters export to each other, as this cluster has them',
    description:
      'Lists the ServiceExports of this cluster with their state, and its ServiceImports: address, ports, the clusters that\nexport it with their ready endpoints and the paths to them, the DNS name, and whether CoreDNS is configured to answer it.\nWith a name, only that Service; isthmus why import NAME explains one. Read-only. Exit code 1 if an export is not in force,\nif an import has no ready endpoint, if names do not resolve by the configuration of CoreDNS, or if there is neither an export\nnor an import of the name.',
    examples: ['isthmus ic services', 'isthmus ic services shop/web -o json | jq .imports'],
  },
  { ...clusterFlags, ...outputFlags },
  ({ flags, operands: [text], terminal }) =>
    withCluster(flags, terminal, async ({ client, label }): Promise<ExitCode> => {
      const name = text === undefined ? undefined : parseServiceName(text);
      const service = name && `${name.namespace}/${name.name}`;
      const signal = AbortSignal.any([terminal.signal, AbortSignal.timeout(durationMs(flags.timeout))]);
      const reading = await readSharedServices({ client, label, namespace: name?.namespace, signal });
      const shared = sharedOf(reading, service);
      const absence = service === undefined ? undefined : absenceOf(shared, service);
      if (absence !== undefined) throw new CommandFailed(absence);
      const paint = paintFor(terminal.isColoured);
      terminal.out(flags.output === 'json' ? `${JSON.stringify(shared, undefined, 2)}\n` : renderShared(shared, paint));
      return shared.isWell ? 0 : 1;
    }),
);
