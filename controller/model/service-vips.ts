/** The virtual addresses of Services in rows of OVN. Pure. */
import { backendKey } from '../../lib/services/backends.ts';
import type { Service } from '../../lib/services/service.ts';
import { variableName } from '../../lib/services/variables.ts';
import { type ServiceVip, vipsOf } from '../../lib/services/vips.ts';
import type { Capabilities } from './view.ts';

/**
 * The source addresses of connections that an endpoint makes to itself by its Service, because an endpoint drops packets from its own
 * address. No Subnet may contain them.
 */
export const hairpinSources = ['169.254.169.5', 'fd69::5'] as const;

/** Without addresses that only some clients may use: a load balancer cannot tell clients apart, so these packets go to the node, which can. */
export function vipsInOvn(service: Service, capabilities: Capabilities): readonly ServiceVip[] {
  return vipsOf(service, capabilities).filter(({ isRanged }) => !isRanged);
}

/** `10.96.0.1:443`. In a row with variables, an IPv6 address is a variable too, because OVN splits these texts at every colon. */
export function vipText({ family, address, port }: ServiceVip, isTemplate: boolean): string {
  if (family === 4 || !isTemplate) return backendKey(address, port.port);
  return `^${variableName('vip', address)}:${port.port}`;
}
