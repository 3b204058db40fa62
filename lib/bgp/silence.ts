import type { Problem } from '../desired/problem.ts';
import type { BgpState } from './objects.ts';

/** Why nothing that a node's speaker wrote can be relied on; undefined if it can. */
export function silenceOf({ nodes }: Pick<BgpState, 'nodes'>, node: string): Problem | undefined {
  if (nodes.get(node)?.isSilent !== true) return undefined;
  return {
    code: 'NodeSilent',
    message: `Kubernetes receives no status from node ${node}, so the state of its sessions is unknown; check that the node and its kubelet run`,
  };
}
