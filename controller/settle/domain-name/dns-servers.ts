import type { DnsServer } from '../../../lib/dns/ask.ts';
import { backendsOf, clusterBackends } from '../../../lib/services/backends.ts';
import { dnsService } from '../../../lib/services/gate.ts';
import type { View } from '../../model/view.ts';

export const dnsServiceKey = `${dnsService.namespace}/${dnsService.name}`;
const dnsPort = 53;
/** Each is asked about every name. */
const mostServers = 16;

/**
 * The servers that answer pods: the endpoints of the Service of DNS. All of them are asked, because each remembers answers of its own; not by the address of the
 * Service, which nodes without kube-proxy may not reach.
 */
export function dnsServers({
  services,
  endpointSlices,
  indexes,
}: Pick<View, 'services' | 'endpointSlices' | 'indexes'>): readonly DnsServer[] {
  const service = services.get(dnsServiceKey);
  const port = service?.ports.find((one) => one.protocol === 'UDP' && one.port === dnsPort);
  if (service === undefined || port === undefined) return [];
  const slices = [...indexes.slicesByService.of(dnsServiceKey)].flatMap((name) => endpointSlices.get(name) ?? []);
  for (const family of service.ipFamilies) {
    const backends = clusterBackends(backendsOf(slices, port, family));
    if (backends.length > 0)
      return backends.slice(0, mostServers).map(({ address, port: number }) => ({ address, port: number }));
  }
  return [];
}
