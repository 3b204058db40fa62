import { bgpNodeStateStatus, type BgpNodeStateStatus } from '../../api/kinds/bgp-node-state.ts';
import { readAs } from '../../api/read-as.ts';
import type { RawObject } from '../../kube/types.ts';

/** What a BgpNodeState says. What no speaker writes is as good as nothing. */
export function parseNodeState(raw: RawObject): BgpNodeStateStatus {
  return readAs(bgpNodeStateStatus, raw['status'] ?? {}).data ?? {};
}
