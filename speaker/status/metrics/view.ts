import type { BgpNodeStateStatus } from '../../../lib/api/kinds/bgp-node-state.ts';
import type { SpeakerPlan } from '../../plan/plan.ts';
import type { SpeakerState } from '../../model/objects.ts';
import type { Observed } from '../../model/observed.ts';

/** What the speaker's figures are of. */
export interface SpeakerView {
  readonly state: SpeakerState;
  readonly plan: SpeakerPlan;
  readonly observed: Observed;
  /** What the BgpNodeState is told; undefined: this node has no BGP. */
  readonly nodeState: BgpNodeStateStatus | undefined;
}
