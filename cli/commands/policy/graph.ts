import { choice, UsageError } from '../../../lib/run/flags.ts';
import { command } from '../../command/command.ts';
import { graphOf } from '../../plan/network-policy/graph.ts';
import { renderPolicyGraph } from '../../render/network-policy/graph.ts';
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
      'Prints a flowchart of the workloads of a namespace, the peers outside that its NetworkPolicies name, and the ports at\nwhich they may connect. GitHub, GitLab and mermaid.live draw it. A link between two workloads is what the policies of both\nends allow; of a peer outside, its own policies are not part of the answer, and neither are security groups and private\nSubnets. Links that follow from the links of both workloads with "anywhere" are not drawn. A workload that policies isolate\nand that nothing may reach has a red border. Policies of the whole cluster are not drawn; a note names those that select\npods here. Computed from the objects by the rules of the controller; OVN is not queried.\nRead-only.',
    examples: [
      'isthmus policy graph shop',
      "isthmus policy graph shop -o json | jq -r '.nodes[] | select(.isClosed).label'",
    ],
  },
  { ...clusterFlags, ...outputFlags },
  async ({ flags, operands, terminal }) => {
    const [text = ''] = operands;
    const graph = graphOf(await readNamespacePolicies(parseNamespaceName(text), flags, terminal));
    print(graph, () => renderPolicyGraph(graph), flags, terminal);
    return 0;
  },
);
