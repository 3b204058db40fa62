/** For tests: a frontend of a Service for UDP, with these endpoints. */
import type { Frontend } from './model/service.ts';

export function udpFrontend(all: readonly string[], more: Partial<Frontend> = {}): Frontend {
  return {
    key: '10.96.0.10 . 17 . 53',
    family: 4,
    isNodePort: false,
    isUdp: true,
    all,
    local: undefined,
    refusal: undefined,
    outsideRefusal: undefined,
    isOfClientsNode: false,
    sourceRanges: undefined,
    affinitySeconds: undefined,
    ...more,
  };
}
