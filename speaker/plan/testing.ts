import { stateOf as bgpStateOf, type TestObjects } from '../../lib/bgp/testing.ts';
import type { SpeakerState } from '../model/objects.ts';

/** The state of node `n1` from any mix of objects. */
export function stateOf(
  objects: TestObjects & Partial<Pick<SpeakerState, 'secrets' | 'transitSwitches' | 'hubs' | 'serviceCidrs'>>,
): SpeakerState {
  const { secrets = new Map(), transitSwitches = new Map(), hubs = new Map(), serviceCidrs = new Map() } = objects;
  return { ...bgpStateOf(objects), secrets, transitSwitches, hubs, serviceCidrs };
}
