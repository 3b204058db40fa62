/** RemoteCluster → its prefixes that routers may send packets for to this node. */
import { z } from 'zod';
import type { RawObject } from '../../lib/kube/types.ts';
import { formatCidr, parseCidr } from '../../lib/net/cidr.ts';
import { learnedOrigin } from '../../lib/route-policy/policy.ts';
import type { RemoteRoute } from '../state/forwarding.ts';

const route = z.looseObject({
  prefix: z.string(),
  transitSwitch: z.string(),
  state: z.string(),
  origin: z.string().optional(),
});
const shape = z.looseObject({ status: z.looseObject({ routes: z.array(z.unknown()).optional() }).optional() });

/** Without what routers there announce: no router here is told of it. */
export function parseRemoteCluster(raw: RawObject): readonly RemoteRoute[] {
  return (shape.safeParse(raw).data?.status?.routes ?? []).flatMap((entry) => {
    const { prefix = '', transitSwitch = '', state, origin } = route.safeParse(entry).data ?? {};
    const cidr = parseCidr(prefix);
    const isTold = state === 'Active' && origin !== learnedOrigin;
    return cidr === undefined || !isTold ? [] : [{ prefix: formatCidr(cidr), transitSwitch }];
  });
}
