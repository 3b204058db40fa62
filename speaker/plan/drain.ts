import { chooseInstance } from '../../lib/bgp/instance.ts';
import type { SpeakerState } from '../state/objects.ts';

/** Whether this node is to announce nothing: asked by annotation, or cordoned where the instance takes that for a wish. */
export function isDrained(state: SpeakerState): boolean {
  const node = state.nodes.get(state.node);
  if (!node) return false;
  const { instance } = chooseInstance(state);
  return node.isDrained || (node.isCordoned && instance?.drain.onCordon === 'Withdraw');
}

/** How long routes that ask to be avoided stay before they are withdrawn. */
export function settleSeconds(state: SpeakerState): number {
  return chooseInstance(state).instance?.drain.settleSeconds ?? 0;
}
