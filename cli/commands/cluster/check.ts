import { text, toggle } from '../../../lib/run/flags.ts';
import release from '../../../package.json' with { type: 'json' };
import { inspectNodes } from '../../apply/node-inspections.ts';
import { command, duration, durationMs, repeatable, type ExitCode } from '../../command/command.ts';
import { check as judge } from '../../plan/check/check.ts';
import { ownMachines } from '../../plan/check/selected.ts';
import { renderReport } from '../../render/check.ts';
import { paintFor } from '../../render/paint.ts';
import type { ClusterFacts } from '../../model/cluster-facts.ts';
import { readChartValues } from '../../watch/chart-values.ts';
import { clusterFlags, outputFlags, withCluster } from '../../watch/cluster.ts';
import { readFacts } from '../../watch/facts.ts';

export const check = command(
  {
    name: 'check',
    operands: [],
    summary: 'can Isthmus be installed in this cluster? before helm install',
    description:
      'Checks whether Isthmus can be installed in the cluster with these values: versions, kernels and runtimes of the nodes,\ntheir addresses, overlaps of networks, other networks, CRDs of others, ports that pods hold, labels, storage. Isthmus\nneed not be installed; the values are those that helm will be given, or the chart’s own where none are given. Reads\nonly, unless --on-nodes asks the nodes themselves for kernel modules, MTU, ports and CNI configurations: that runs a pod\nof the image on each node, which reads and ends, and takes it away again. Exit code 1 where something stands in the way,\nor where you may not read what would tell.',
    examples: [
      'isthmus check',
      'isthmus check -f values.yaml --set networking.podCIDR=10.20.0.0/16',
      'isthmus check -f values.yaml --on-nodes --image registry.example.com/isthmus:0.1.0',
      'isthmus check -f values.yaml -o json | jq .problems',
    ],
  },
  {
    values: repeatable('values files as for helm install (-f); the last one wins'),
    set: repeatable('single values as for helm install, name=value; they win over files'),
    'on-nodes': toggle('look at the nodes too, from a pod on each'),
    image: text('with --on-nodes: image of Isthmus; by default that of the values', undefined),
    wait: duration('with --on-nodes: how long the pods may take', '2m'),
    ...clusterFlags,
    ...outputFlags,
  },
  async ({ flags, terminal }): Promise<ExitCode> => {
    const values = await readChartValues(flags.values ?? [], flags.set ?? []);
    const facts = await withCluster(flags, terminal, async ({ client, namespace, label }): Promise<ClusterFacts> => {
      const late = AbortSignal.timeout(durationMs(flags.timeout));
      const read = await readFacts({ client, namespace, label, signal: AbortSignal.any([terminal.signal, late]) });
      const nodes = ownMachines({ facts: read, values });
      if (!flags.onNodes || nodes === undefined) return read;
      const { repository, tag, pullPolicy } = values.image;
      const looks = await inspectNodes({
        client,
        namespace,
        nodes: nodes.map(({ name }) => name),
        image: flags.image ?? `${repository}:${tag === '' ? release.version : tag}`,
        pullPolicy,
        pullSecrets: values.imagePullSecrets,
        confDir: values.daemon.cni.confDir,
        timeoutMs: durationMs(flags.wait),
        signal: terminal.signal,
      });
      return { ...read, looks };
    });
    const report = judge({ facts, values });
    const paint = paintFor(terminal.isColoured);
    terminal.out(flags.output === 'json' ? `${JSON.stringify(report, undefined, 2)}\n` : renderReport(report, paint));
    return report.isWell ? 0 : 1;
  },
);
