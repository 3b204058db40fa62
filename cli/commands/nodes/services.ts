import { command, type ExitCode } from '../../command/command.ts';
import { joinReports } from '../../plan/nodes/services.ts';
import { renderNodeServices } from '../../render/nodes/services.ts';
import { clusterFlags, outputFlags } from '../../watch/cluster.ts';
import { readNodeServices } from '../../watch/node-services.ts';
import { print } from '../bgp/answer.ts';

export const services = command(
  {
    name: 'services',
    operands: [],
    summary: 'what nodes would serve in place of kube-proxy, before services.nodes=on',
    description:
      'Prints what the daemons report with the chart value services.nodes=dry-run: how many Services, addresses and endpoints each\nnode would serve, which rules of kube-proxy it has, what prevents it from serving, and which Services it would serve\notherwise than kube-proxy. Reads only. Exit code 1 unless all nodes have reported and could serve.',
    examples: ['isthmus nodes services', 'isthmus nodes services -o json | jq .differences'],
  },
  { ...clusterFlags, ...outputFlags },
  async ({ flags, terminal }): Promise<ExitCode> => {
    const found = joinReports(await readNodeServices(flags, terminal));
    print(found, (paint) => renderNodeServices(found, paint), flags, terminal);
    return found.isWell ? 0 : 1;
  },
);
