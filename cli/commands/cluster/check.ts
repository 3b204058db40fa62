import { command, durationMs, repeatable, type ExitCode } from '../../command/command.ts';
import { check as judge } from '../../plan/check/check.ts';
import { renderReport } from '../../render/check.ts';
import { paintFor } from '../../render/paint.ts';
import { readChartValues } from '../../watch/chart-values.ts';
import { clusterFlags, outputFlags, withCluster } from '../../watch/cluster.ts';
import { readFacts } from '../../watch/facts.ts';

export const check = command(
  {
    name: 'check',
    operands: [],
    summary: 'can Isthmus be installed in this cluster? before helm install',
    description:
      'Looks whether the cluster can take Isthmus as the values say: versions, kernels and runtimes of the nodes, their addresses,\noverlaps of networks, other networks, kinds of others, ports that pods hold, labels, storage. Nothing of Isthmus has to be\nthere; the values are those that helm will be given, and the chart’s own where none are. Reads only. Exit code 1 where\nsomething stands in the way, or where you may not read what would tell.',
    examples: [
      'isthmus check',
      'isthmus check -f values.yaml --set networking.podCIDR=10.20.0.0/16',
      'isthmus check -f values.yaml -o json | jq .problems',
    ],
  },
  {
    values: repeatable('values files as for helm install (-f); the last one wins'),
    set: repeatable('single values as for helm install, name=value; they win over files'),
    ...clusterFlags,
    ...outputFlags,
  },
  async ({ flags, terminal }): Promise<ExitCode> => {
    const values = await readChartValues(flags.values ?? [], flags.set ?? []);
    const facts = await withCluster(flags, terminal, ({ client, namespace, label }) => {
      const late = AbortSignal.timeout(durationMs(flags.timeout));
      return readFacts({ client, namespace, label, signal: AbortSignal.any([terminal.signal, late]) });
    });
    const report = judge({ facts, values });
    const paint = paintFor(terminal.isColoured);
    terminal.out(flags.output === 'json' ? `${JSON.stringify(report, undefined, 2)}\n` : renderReport(report, paint));
    return report.isWell ? 0 : 1;
  },
);
