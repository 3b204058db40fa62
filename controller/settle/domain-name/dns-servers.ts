import type { DnsServer } from '../../../lib/dns/ask.ts';
import { backendsOf, clusterBackends } from '../../../lib/services/backends.ts';
import { dnsService } from '../../../lib/services/gate.ts';
import type { View } from '../../model/view.ts';

export const dnsServiceKey = `${dnsService.namespace}/${dnsService.name}`;
const dnsPort = 53;
/** Each is asked about every name. */
export const mostServers = 16;

export interface DnsServers {
  readonly asked: readonly DnsServer[];
  /** Those beyond the limit. Pods may get addresses from them that are not known. */
  readonly left: readonly DnsServer[];
}

const none: DnsServers = { asked: [], left: [] };

/**
 * The servers that answer pods: the endpoints of the Service of DNS. All of them are asked up to a limit, because each remembers answers of its own; not by the address of the
 * Service, which nodes without kube-proxy may not reach.
 */
export function dnsServers({
  services,
  endpointSlices,
  indexes,
}: Pick<View, 'services' | 'endpointSlices' | 'indexes'>): DnsServers {
  const service = services.get(dnsServiceKey);
  const port = service?.ports.find((one) => one.protocol === 'UDP' && one.port === dnsPort);
  if (service === undefined || port === undefined) return none;
  const slices = [...indexes.slicesByService.of(dnsServiceKey)].flatMap((name) => endpointSlices.get(name) ?? []);
  for (const family of service.ipFamilies) {
    const backends = clusterBackends(backendsOf(slices, port, family));
    if (backends.length === 0) continue;
    // They are sorted, so that a restart asks the same ones.
    const all = backends.map(({ address, port: number }) => ({ address, port: number }));
    return { asked: all.slice(0, mostServers), left: all.slice(mostServers) };
  }
  return none;
}
