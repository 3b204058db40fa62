import { command } from '../../command/command.ts';
import { listSessions } from '../../plan/bgp/sessions.ts';
import { renderSessions } from '../../render/bgp/sessions.ts';
import { readSessions } from '../../watch/bgp.ts';
import { clusterFlags, outputFlags } from '../../watch/cluster.ts';
import { checkNames, filterFlags, print } from './answer.ts';

export const peers = command(
  {
    name: 'peers',
    operands: [],
    summary: 'sessions with routers, and why one is not up',
    description:
      'Lists every session of every node with its state, and below the reason of each that is not Established; also sessions\nthat should exist but that no speaker reports, and BgpPeers that are refused or used on no node. SENT, RECEIVED and\nUSED count prefixes. Read-only. Exit code 1 if a session is not Established.',
    examples: ['isthmus bgp peers', 'isthmus bgp peers --node n1', 'isthmus bgp peers --peer tor1 -o json'],
  },
  { ...filterFlags, ...clusterFlags, ...outputFlags },
  async ({ flags, terminal }) => {
    const reading = await readSessions(flags, terminal);
    checkNames(reading, flags);
    const found = listSessions(reading, flags);
    print(found, (paint) => renderSessions(found, terminal.now(), paint), flags, terminal);
    return found.isWell ? 0 : 1;
  },
);
