import { bgpNodeStateStatus } from '../../lib/api/kinds/bgp-node-state.ts';
import type { RawObject } from '../../lib/kube/types.ts';
import type { ShownNodeState } from '../status/node-state-writer.ts';

/** What somebody else wrote there is as good as nothing. */
export function parseNodeState(raw: RawObject): ShownNodeState {
  return { uid: raw.metadata.uid, status: bgpNodeStateStatus.safeParse(raw['status'] ?? {}).data ?? {} };
}
