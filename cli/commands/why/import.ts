import { fieldsOf, textOf } from '../../../lib/kube/fields.ts';
import { keyOf, nodes, pods } from '../../../lib/kube/resources.ts';
import type { KubeClient } from '../../../lib/kube/types.ts';
import { explainImport, type ImportClient } from '../../plan/mcs/why.ts';
import { renderImportWhy } from '../../render/mcs/services.ts';
import { paintFor } from '../../render/paint.ts';
import { command, durationMs, type ExitCode } from '../../command/command.ts';
import { clusterFlags, outputFlags, withCluster } from '../../watch/cluster.ts';
import { missing } from '../../watch/missing.ts';
import { readSharedServices } from '../../watch/shared-services.ts';
import { findObject } from '../../watch/workload.ts';
import { parseClientName, parseServiceName } from './service.ts';

async function readImportClient(
  client: Pick<KubeClient, 'get'>,
  text: string,
  signal: AbortSignal,
): Promise<ImportClient> {
  const { kind, ...name } = parseClientName(text);
  const raw = await findObject(client, kind === 'pod' ? pods : nodes, name, signal);
  if (raw === undefined) throw missing(kind, name);
  const { hostNetwork, nodeName } = fieldsOf(raw['spec']);
  const node = kind === 'node' ? name.name : hostNetwork === true ? textOf(nodeName) : undefined;
  return { name: `${kind}/${keyOf(name)}`, node };
}

export const serviceImport = command(
  {
    name: 'import',
    operands: ['NAMESPACE/NAME', '[FROM]'],
    summary: 'whether pods here reach a Service that several clusters export, or why not',
    description:
      'Shows what prevents that pods of this cluster reach a Service of the cluster set: membership, namespace, exports, conflicts,\naddress, endpoints of each cluster and the paths to it, and names. FROM is pod/NAMESPACE/NAME or node/NAME; nodes, and pods in\ntheir network, are not served. Computed from the objects; OVN is not queried. Read-only. Exit code 1 if it is not reached.',
    examples: [
      'isthmus why import shop/web',
      'isthmus why import shop/web pod/shop/client',
      'isthmus why import shop/web -o json | jq .obstacles',
    ],
  },
  { ...clusterFlags, ...outputFlags },
  ({ flags, operands: [text = '', from], terminal }) =>
    withCluster(flags, terminal, async ({ client, label }): Promise<ExitCode> => {
      const { namespace, name } = parseServiceName(text);
      const signal = AbortSignal.any([terminal.signal, AbortSignal.timeout(durationMs(flags.timeout))]);
      const [reading, user] = await Promise.all([
        readSharedServices({ client, label, namespace, signal }),
        from === undefined ? undefined : readImportClient(client, from, signal),
      ]);
      const why = explainImport(reading, namespace, name, user);
      const paint = paintFor(terminal.isColoured);
      terminal.out(flags.output === 'json' ? `${JSON.stringify(why, undefined, 2)}\n` : renderImportWhy(why, paint));
      return why.isServed ? 0 : 1;
    }),
);
