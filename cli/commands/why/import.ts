import { explainImport } from '../../plan/mcs/why.ts';
import { renderImportWhy } from '../../render/mcs/services.ts';
import { paintFor } from '../../render/paint.ts';
import { command, durationMs, type ExitCode } from '../../command/command.ts';
import { clusterFlags, outputFlags, withCluster } from '../../watch/cluster.ts';
import { readSharedServices } from '../../watch/shared-services.ts';
import { parseServiceName } from './service.ts';

export const serviceImport = command(
  {
    name: 'import',
    operands: ['NAMESPACE/NAME'],
    summary: 'whether pods here reach a Service that several clusters export, or why not',
    description:
      'Shows what prevents that pods of this cluster reach a Service of the cluster set: membership, namespace, exports, conflicts,\naddress, endpoints of each cluster and the paths to it, and names. Computed from the objects; OVN is not queried. Read-only.\nExit code 1 if it is not reached.',
    examples: ['isthmus why import shop/web', 'isthmus why import shop/web -o json | jq .obstacles'],
  },
  { ...clusterFlags, ...outputFlags },
  ({ flags, operands: [text = ''], terminal }) =>
    withCluster(flags, terminal, async ({ client, label }): Promise<ExitCode> => {
      const { namespace, name } = parseServiceName(text);
      const signal = AbortSignal.any([terminal.signal, AbortSignal.timeout(durationMs(flags.timeout))]);
      const why = explainImport(await readSharedServices({ client, label, namespace, signal }), namespace, name);
      const paint = paintFor(terminal.isColoured);
      terminal.out(flags.output === 'json' ? `${JSON.stringify(why, undefined, 2)}\n` : renderImportWhy(why, paint));
      return why.isServed ? 0 : 1;
    }),
);
