import type { Condition } from '../../../lib/api/kinds/shared.ts';
import { serviceExports } from '../../../lib/kube/resources.ts';
import type { RawObject } from '../../../lib/kube/types.ts';
import { createExport, deleteExport, getExport, hasService } from '../../apply/service-exports.ts';
import { waitFor } from '../../apply/wait.ts';
import { command, duration, durationMs, type ExitCode, type Terminal } from '../../command/command.ts';
import { CommandFailed } from '../../command/failure.ts';
import { exportVerdict } from '../../plan/mcs/export-verdict.ts';
import { clusterFlags, withCluster } from '../../watch/cluster.ts';
import { parseServiceName } from '../why/service.ts';

const flags = { wait: duration('how long to wait for the hub', '20s'), ...clusterFlags };

export const exportService = command(
  {
    name: 'export',
    operands: ['NAMESPACE/NAME'],
    summary: 'export a Service of this cluster to all clusters',
    description:
      'Creates the ServiceExport of a Service and waits until the hub has it. The pods of all clusters that have the namespace then\nreach it by the address of its ServiceImport (isthmus ic services). An export that exists stays as it is. Exit code 1 if the hub\nhas not accepted it in time, with the reason.',
    examples: ['isthmus ic export shop/web', 'isthmus ic export shop/web --context west'],
  },
  flags,
  ({ flags: { wait, ...rest }, operands: [text = ''], terminal }) =>
    withCluster(rest, terminal, async ({ client }): Promise<ExitCode> => {
      const name = parseServiceName(text);
      const service = `${name.namespace}/${name.name}`;
      const inTime = timeLimit(rest.timeout, terminal);
      if (!(await hasService(client, name, inTime())))
        throw new CommandFailed({ code: 'NoService', message: `there is no Service ${service} to export` });
      const isNew = await createExport(client, name, inTime());
      const { value, tookMs } = await waitFor(
        async () => {
          const raw = await getExport(client, name, inTime());
          return exportVerdict(conditionsOf(raw), raw?.metadata.generation);
        },
        { timeoutMs: durationMs(wait), signal: terminal.signal },
      );
      if (value?.isExported === true) {
        const after = isNew ? ` after ${(tookMs / 1000).toFixed(1)} s` : ' already';
        terminal.out(`${service} is exported${after}\n`);
        if (value.message !== '') terminal.note(`${value.message}\n`);
        return 0;
      }
      const message = value?.message ?? `the hub has not accepted it within ${wait}: isthmus ic status`;
      throw new CommandFailed({ code: value?.code ?? 'ExportPending', message: `${service}: ${message}` });
    }),
);

export const unexport = command(
  {
    name: 'unexport',
    operands: ['NAMESPACE/NAME'],
    summary: 'take the endpoints of this cluster out of a Service of all clusters',
    description:
      'Deletes the ServiceExport of a Service. Other clusters that export it go on serving; with the last export the import is gone.\nA Service that is not exported is no error.',
    examples: ['isthmus ic unexport shop/web'],
  },
  clusterFlags,
  ({ flags: own, operands: [text = ''], terminal }) =>
    withCluster(own, terminal, async ({ client }): Promise<ExitCode> => {
      const name = parseServiceName(text);
      const service = `${name.namespace}/${name.name}`;
      const inTime = timeLimit(own.timeout, terminal);
      if ((await getExport(client, name, inTime())) === undefined) {
        terminal.out(`${service} is not exported\n`);
        return 0;
      }
      await deleteExport(client, name, inTime());
      terminal.out(`${service} is no longer exported: ${serviceExports.kind} deleted\n`);
      return 0;
    }),
);

/** For each request its own: --timeout from its start, or the end of the command. */
function timeLimit(timeout: string, { signal }: Terminal): () => AbortSignal {
  return () => AbortSignal.any([signal, AbortSignal.timeout(durationMs(timeout))]);
}

function conditionsOf(raw: RawObject | undefined): readonly Condition[] {
  return ((raw?.['status'] ?? {}) as { conditions?: readonly Condition[] }).conditions ?? [];
}
