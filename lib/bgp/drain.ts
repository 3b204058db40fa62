import type { WantedInstance } from './instance.ts';
import type { BgpState } from './objects.ts';
import type { Announcing } from './route-table.ts';

/** `Leaving`: routes ask to be avoided; `Drained`: there are none. */
export type DrainPhase = 'None' | 'Leaving' | 'Drained';

/** Whether this node is to announce nothing: asked by annotation, or cordoned where the instance takes that for a wish. */
export function isDrained(state: BgpState, instance: WantedInstance | undefined): boolean {
  const node = state.nodes.get(state.node);
  if (!node) return false;
  return node.isDrained || (node.isCordoned && instance?.drain.onCordon === 'Withdraw');
}

/** How a node announces in a phase; undefined: not at all. */
export function announcingIn(drain: DrainPhase, instance: WantedInstance | undefined): Announcing | undefined {
  return instance && drain !== 'Drained' ? { isLeaving: drain === 'Leaving' } : undefined;
}
