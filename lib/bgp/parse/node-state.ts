import { bgpNodeStateStatus, type BgpNodeStateStatus } from '../../api/kinds/bgp-node-state.ts';
import { readAs } from '../../api/read-as.ts';
import type { RawObject } from '../../kube/types.ts';

/** Parses the status of a BgpNodeState; a status that no speaker could have written counts as empty. */
export function parseNodeState(raw: RawObject): BgpNodeStateStatus {
  return readAs(bgpNodeStateStatus, raw['status'] ?? {}).data ?? {};
}
