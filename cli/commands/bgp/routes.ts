import { toggle, UsageError } from '../../../lib/run/flags.ts';
import { command } from '../../command/command.ts';
import { listAnnounced, listLearned, listRefused } from '../../plan/bgp/routes.ts';
import { parseTarget } from '../../plan/why.ts';
import { renderAnnounced, renderLearned } from '../../render/bgp/routes.ts';
import { readBgp, readSessions } from '../../watch/bgp.ts';
import { clusterFlags, outputFlags } from '../../watch/cluster.ts';
import { checkNames, filterFlags, print } from './answer.ts';

export const routes = command(
  {
    name: 'routes',
    operands: ['[PREFIX]'],
    summary: 'what nodes announce, to which peers and how; what they learned',
    description:
      'Lists what each node announces: for which objects and advertisements, to which peers, and with what attributes.\nRows are computed from the objects by the rules of the speakers; peers whose session is down are marked. With PREFIX only prefixes\nthat contain it or are within it. --learned lists the prefixes of routers that are routes here instead, and for those\nrefused as OwnPrefix what uses them. Read-only.',
    examples: [
      'isthmus bgp routes',
      'isthmus bgp routes 10.16.0.0/16 --peer tor1',
      'isthmus bgp routes --learned --node n1',
      'isthmus bgp routes -o json | jq -r .routes[].prefix',
    ],
  },
  {
    learned: toggle('prefixes received from routers and used here'),
    ...filterFlags,
    ...clusterFlags,
    ...outputFlags,
  },
  async ({ flags, operands, terminal }) => {
    const [text] = operands;
    const prefix = text === undefined ? undefined : parseTarget(text);
    if (text !== undefined && prefix === undefined)
      throw new UsageError(`routes: ${text} is neither an address nor a prefix`, 2);
    const filter = { node: flags.node, peer: flags.peer, prefix };
    const reading = await (flags.learned ? readSessions : readBgp)(flags, terminal);
    checkNames(reading, filter);
    if (flags.learned) {
      const learned = listLearned(reading, filter);
      const refused = listRefused(reading, filter);
      print({ learned, refused }, (paint) => renderLearned(learned, refused, paint), flags, terminal);
    } else {
      const announced = listAnnounced(reading, filter);
      print({ routes: announced }, (paint) => renderAnnounced(announced, paint), flags, terminal);
    }
    return 0;
  },
);
