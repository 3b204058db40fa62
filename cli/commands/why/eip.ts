import { UsageError } from '../../../lib/run/flags.ts';
import { command, repeatable } from '../../command/command.ts';
import { announcementOf } from '../../plan/eip/announcement.ts';
import { explainEip } from '../../plan/eip/why.ts';
import { renderEipWhy } from '../../render/eip/why.ts';
import { clusterFlags, outputFlags } from '../../watch/cluster.ts';
import { readEip } from '../../watch/eip.ts';
import { print } from '../bgp/answer.ts';

export function parseEipName(text: string): string {
  const name = text.replace(/^(?:ovn-eip|oeip|eip)\//, '');
  if (name === '' || name.includes('/'))
    throw new UsageError(`eip: "${text}" is not a name of an OvnEip; write NAME`, 2);
  return name;
}

export const eip = command(
  {
    name: 'eip',
    operands: ['NAME'],
    summary: 'whether an address outside is served, by which rules and node, or why not',
    description:
      'Shows the rules that use an OvnEip, the node that translates each, and how neighbours learn where the address is: by\nARP, as OVN announces it, and by BGP. Rules and their reasons are those of the objects; nodes and announcements are those of\nOVN’s southbound database, which needs the right to run programs in the pods of OVN, or --sb. Read-only. Exit code 1 if no\nrule of the address is in force, if no node holds it, or if OVN does not announce it.',
    examples: [
      'isthmus why eip web',
      'isthmus why eip web -o json | jq .obstacles',
      'isthmus why eip web --sb unix:/run/ovn/ovnsb_db.sock',
    ],
  },
  {
    sb: repeatable(
      'remotes of OVN_Southbound, as unix:PATH, for the ovn-sbctl of this machine; by default that of the pods of OVN',
    ),
    ...clusterFlags,
    ...outputFlags,
  },
  async ({ flags, operands, terminal }) => {
    const [text = ''] = operands;
    const question = { name: parseEipName(text), sb: flags.sb ?? [] };
    const reading = await readEip(question, flags, terminal);
    const why = explainEip(reading, announcementOf(reading.bgp, question.name));
    print(why, (paint) => renderEipWhy(why, paint), flags, terminal);
    return why.isServed ? 0 : 1;
  },
);
