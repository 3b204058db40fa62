import { choice, UsageError } from '../../../lib/run/flags.ts';
import { command } from '../../command/command.ts';
import { graphOf } from '../../plan/network-policy/graph.ts';
import { drawPolicyGraph } from '../../render/network-policy/graph.ts';
import { clusterFlags } from '../../watch/cluster.ts';
import { readNamespacePolicies } from '../../watch/namespace-policies.ts';
import { print } from '../bgp/answer.ts';

const outputFlags = {
  output: choice('output format: mermaid, or json for programs (-o)', ['mermaid', 'json'], 'mermaid'),
};

/** @throws UsageError for a text that is no name of a Namespace */
export function parseNamespaceName(text: string): string {
  if (!/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(text))
    throw new UsageError(`NAMESPACE: "${text}" is not the name of a namespace; kubectl get namespaces lists them`, 2);
  return text;
}

export const policyGraph = command(
  {
    name: 'graph',
    operands: ['NAMESPACE'],
    summary: 'a Mermaid flowchart of who may reach whom in a namespace',
    description:
      'Prints a flowchart of the workloads of a namespace, the peers outside that policies name, and the ports at which they\nmay connect. GitHub, GitLab and mermaid.live draw it. A link between two workloads is what the policies of both\nends allow; of a peer outside, its own policies are not part of the answer, and neither are security groups and private\nSubnets. Links that follow from the links of both workloads with "anywhere" are not drawn. A workload that policies isolate\nand that nothing may reach has a red border. A link that ends with a cross is what a policy of the whole\ncluster denies although the links with "anywhere" show it. Computed from the objects by the rules of the controller; OVN is\nnot queried. Read-only. Exit code 1 if the picture lacks something: kinds of policies that you may not read, or nodes and\nlinks beyond the limits of Mermaid (-o json has these).',
    examples: [
      'isthmus policy graph shop',
      "isthmus policy graph shop -o json | jq -r '.nodes[] | select(.isClosed).label'",
    ],
  },
  { ...clusterFlags, ...outputFlags },
  async ({ flags, operands, terminal }) => {
    const [text = ''] = operands;
    const graph = graphOf(await readNamespacePolicies(parseNamespaceName(text), flags, terminal));
    const { text: drawing, isWhole } = drawPolicyGraph(graph);
    print(graph, () => drawing, flags, terminal);
    return graph.unread.length === 0 && (isWhole || flags.output === 'json') ? 0 : 1;
  },
);
