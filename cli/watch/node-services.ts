/** Reads the mode of the daemons, and the reports of a dry run from their Nodes. */
import { annotation } from '../../lib/api/names.ts';
import { daemonSets, nodes, pods } from '../../lib/kube/resources.ts';
import { fieldsOf, textOf } from '../../lib/kube/fields.ts';
import { parseDryRun } from '../../lib/services/dry-run.ts';
import { durationMs, type Terminal } from '../command/command.ts';
import type { NodeServicesReading } from '../model/node-services.ts';
import { type ClusterFlags, withCluster } from './cluster.ts';
import { argumentOf, findObject } from './workload.ts';

const daemon = 'isthmus-daemon';

/** @throws KubeUnreachable, KubeApiError, or the timeout's TimeoutError */
export function readNodeServices(flags: ClusterFlags, terminal: Terminal): Promise<NodeServicesReading> {
  return withCluster(flags, terminal, async ({ client, namespace }) => {
    const signal = AbortSignal.any([terminal.signal, AbortSignal.timeout(durationMs(flags.timeout))]);
    const [workload, daemons, machines] = await Promise.all([
      findObject(client, daemonSets, { namespace, name: daemon }, signal),
      client.list(pods, { namespace, labelSelector: `app.kubernetes.io/name=${daemon}`, signal }),
      client.list(nodes, { signal }),
    ]);
    const placed = new Set(daemons.map(({ spec }) => textOf(fieldsOf(spec)['nodeName'])));
    return {
      mode: workload && modeOf(argumentOf(workload, 'services')),
      nodes: machines
        .filter(({ metadata }) => placed.has(metadata.name))
        .map(({ metadata: { name, annotations } }) => ({
          name,
          report: parseDryRun(annotations?.[annotation.servicesDryRun] ?? ''),
        }))
        .toSorted((a, b) => (a.name < b.name ? -1 : 1)),
    };
  });
}

function modeOf(argument: string | undefined): 'on' | 'dry-run' | 'off' {
  return argument === 'on' || argument === 'dry-run' ? argument : 'off';
}
