import { chooseInstance } from '../../lib/bgp/instance.ts';
import type { SpeakerState } from '../state/objects.ts';

/** How long routes that ask to be avoided stay before they are withdrawn. */
export function settleSeconds(state: SpeakerState): number {
  return chooseInstance(state).instance?.drain.settleSeconds ?? 0;
}
