/** Shared by the commands about BGP: the filters by node and peer, and the output of a result. */
import { text } from '../../../lib/run/flags.ts';
import type { Terminal } from '../../command/command.ts';
import { CommandFailed } from '../../command/failure.ts';
import { type Paint, paintFor } from '../../render/paint.ts';
import type { BgpReading, SessionFilter } from '../../model/bgp.ts';

export const filterFlags = {
  node: text('only sessions of this node', undefined),
  peer: text('only sessions with this BgpPeer', undefined),
};

/** @throws CommandFailed if the node or peer does not exist, because an empty result would be misleading */
export function checkNames({ state, nodeStates }: BgpReading, { node, peer }: SessionFilter): void {
  if (node !== undefined && !state.nodes.has(node) && !nodeStates.has(node))
    throw new CommandFailed({ code: 'NoSuchNode', message: `there is no node ${node}; kubectl get nodes lists them` });
  if (peer === undefined || state.peers.has(peer)) return;
  const known = [...state.peers.keys()].toSorted().join(', ');
  const message = `there is no BgpPeer ${peer}; there ${known === '' ? 'is none' : `are ${known}`}`;
  throw new CommandFailed({ code: 'NoSuchPeer', message });
}

/** Prints the result in the requested format. */
export function print(
  answer: unknown,
  render: (paint: Paint) => string,
  { output }: { readonly output: string },
  { out, isColoured }: Terminal,
): void {
  out(output === 'json' ? `${JSON.stringify(answer, undefined, 2)}\n` : render(paintFor(isColoured)));
}
