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
    summary: 'check before helm install whether Isthmus can be installed in this cluster',
    description:
      'Checks whether Isthmus can be installed in the cluster with these values: versions, kernels and runtimes of the nodes,\ntheir addresses, overlaps of networks, other networks, CRDs of others, ports that pods hold, labels, storage. Isthmus\nneed not be installed; give the values that helm will get; without them the defaults of the chart apply. Reads\nonly, unless --on-nodes checks the nodes themselves for kernel modules, MTU, ports and CNI configurations: that runs a pod\nof the image on each node, which only reads, and deletes it. Exit code 1 if something prevents the installation, or if\nyou lack permission to read something.',
    examples: [
      'isthmus check',
      'isthmus check -f values.yaml --set networking.podCIDR=10.20.0.0/16',
      'isthmus check -f values.yaml --on-nodes --image registry.example.com/isthmus:0.1.0',
      'isthmus check -f values.yaml -o json | jq .problems',
    ],
  },
  {
    values: repeatable('values files, as for helm install (-f); later files override earlier ones'),
    set: repeatable('single values, as for helm install: name=value; they override files'),
    'on-nodes': toggle('check the nodes too, from a pod on each'),
    image: text('with --on-nodes: image of Isthmus; by default the one in the values', undefined),
    wait: duration('with --on-nodes: timeout for the pods', '2m'),
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
