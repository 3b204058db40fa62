import { hasHostBits } from '../../../lib/net/cidr.ts';
import { UsageError } from '../../../lib/run/flags.ts';
import { command } from '../../command/command.ts';
import { CommandFailed } from '../../command/failure.ts';
import { findTarget } from '../../plan/bgp/question.ts';
import { explain } from '../../plan/bgp/why.ts';
import { renderWhy } from '../../render/bgp/why.ts';
import { readBgp } from '../../watch/bgp.ts';
import { clusterFlags, outputFlags } from '../../watch/cluster.ts';
import { checkNames, filterFlags, print } from './answer.ts';

/** Text that looks like an address or prefix but does not parse as one. */
const almostPrefix = /^[0-9.]+(\/\d+)?$|^[0-9a-f]*:[0-9a-f:.]*(\/\d+)?$/i;

export const why = command(
  {
    name: 'why',
    operands: ['PREFIX|ADDRESS|OBJECT'],
    summary: 'why something is announced to routers, or is not',
    description:
      'Shows for every node and each of its peers whether a prefix, an address or an object is announced: by which object, which\nadvertisements and with what attributes, or everything that prevents it. An address counts as announced where any prefix that\nholds it is; a prefix or an object where it is announced itself or as the aggregate that an advertisement asks for.\nObjects are pod/NAMESPACE/NAME, service/NAMESPACE/NAME, subnet/NAME, eip/NAME or remotecluster/NAME; NAMESPACE/NAME is a pod\nor a service, and without a namespace it is "default". Read-only. Exit code 1 if it is announced on no session; with\n--node and --peer only those sessions count.',
    examples: [
      'isthmus bgp why 10.16.0.7',
      'isthmus bgp why 10.16.0.0/16 --peer tor1',
      'isthmus bgp why service/default/lb --node n1 --peer tor1',
      'isthmus bgp why pod/default/web -o json | jq .answers',
    ],
  },
  { ...filterFlags, ...clusterFlags, ...outputFlags },
  async ({ flags, operands, terminal }) => {
    const [text = ''] = operands;
    if (hasHostBits(text)) throw new UsageError(`why: ${text} has host bits set; write the network address`, 2);
    const reading = await readBgp(flags, terminal);
    checkNames(reading, flags);
    const target = findTarget(reading.state, text);
    if (target === undefined && almostPrefix.test(text))
      throw new UsageError(`why: ${text} is neither an address nor a prefix`, 2);
    if (target === undefined)
      throw new CommandFailed({
        code: 'NoSuchObject',
        message: `there is no ${text}; write pod/NAMESPACE/NAME, service/NAMESPACE/NAME, subnet/NAME, eip/NAME or remotecluster/NAME, an address or a prefix`,
      });
    const found = explain(reading, target, flags);
    print(found, (paint) => renderWhy(found, paint), flags, terminal);
    return found.isAnnounced ? 0 : 1;
  },
);
