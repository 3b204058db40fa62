import { stateOf as bgpStateOf, type TestObjects } from '../../lib/bgp/testing.ts';
import type { SpeakerState } from '../state/objects.ts';

/** The state of node `n1` from any mix of objects. */
export function stateOf(objects: TestObjects & { readonly secrets?: SpeakerState['secrets'] }): SpeakerState {
  return { ...bgpStateOf(objects), secrets: objects.secrets ?? new Map() };
}
