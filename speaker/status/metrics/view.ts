import type { BgpNodeStateStatus } from '../../../lib/api/kinds/bgp-node-state.ts';
import type { SpeakerPlan } from '../../plan/plan.ts';
import type { SpeakerState } from '../../model/objects.ts';
import type { Observed } from '../../model/observed.ts';

/** The values for the speaker's metrics. */
export interface SpeakerView {
  readonly state: SpeakerState;
  readonly plan: SpeakerPlan;
  readonly observed: Observed;
  /** The planned status of the BgpNodeState; undefined if this node has no BGP. */
  readonly nodeState: BgpNodeStateStatus | undefined;
}
