/** The virtual addresses of Services in rows of OVN. Pure. */
import type { Service } from '../../lib/services/service.ts';
import { type ServiceVip, vipsOf } from '../../lib/services/vips.ts';
import type { Capabilities } from './view.ts';

/** Without addresses that only some clients may use: a load balancer cannot tell clients apart, so these packets go to the node, which can. */
export function vipsInOvn(service: Service, capabilities: Capabilities): readonly ServiceVip[] {
  return vipsOf(service, capabilities).filter(({ isRanged }) => !isRanged);
}
