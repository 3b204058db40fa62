import { UsageError } from '../../../lib/run/flags.ts';
import { command } from '../../command/command.ts';
import { clusterFlags, outputFlags } from '../../watch/cluster.ts';
import { readRule } from '../../watch/service.ts';
import { answer } from './answer.ts';
import { parseClientName } from './service.ts';

export function parseRuleName(text: string): string {
  const name = text.replace(/^(?:switch-lb-rule|slr)\//, '');
  if (name === '' || name.includes('/'))
    throw new UsageError(`switch-lb-rule: "${text}" is not a name of a SwitchLBRule; write NAME`, 2);
  return name;
}

export const switchLbRule = command(
  {
    name: 'switch-lb-rule',
    operands: ['NAME', '[FROM]'],
    summary: 'how a pod reaches a SwitchLBRule, or why it does not',
    description:
      'Shows for each virtual address of a SwitchLBRule which backends serve a pod of its VPC, by which load balancer and\nhealth check of OVN, what the checks found, and what prevents it. FROM is pod/NAMESPACE/NAME or NAMESPACE/NAME. Without\nit the answer is for pods anywhere in the VPC. `isthmus why service NAMESPACE/slr-NAME` gives the same answer. Computed\nfrom the objects and the status of the rule; OVN is not queried. Read-only. Exit code 1 if no address leads to a\nbackend.',
    examples: [
      'isthmus why switch-lb-rule web',
      'isthmus why switch-lb-rule web pod/shop/client',
      'isthmus why switch-lb-rule web shop/client -o json | jq .endpoints',
    ],
  },
  { ...clusterFlags, ...outputFlags },
  async ({ flags, operands, terminal }) => {
    const [text = '', from] = operands;
    const name = parseRuleName(text);
    const client = from === undefined ? undefined : parseClientName(from);
    return answer(await readRule(name, client, flags, terminal), flags, terminal);
  },
);
