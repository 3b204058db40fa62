import { defaultVpc } from '../../api/names.ts';
import type { Endpoint, Service } from '../objects.ts';
import { Collected, hostPrefix } from './host-routes.ts';
import { type Requester, byAnnotation, type ObjectOffers } from './offer.ts';
import { announcers, isWithin, selects, takesNamespace, type View } from './view.ts';

type AddressType = 'ClusterIP' | 'ExternalIP' | 'LoadBalancerIP';

/** The addresses of a Service that has endpoints. */
export function serviceOffers(view: View, service: Service): ObjectOffers {
  const collected = new Collected();
  const slices = view.state.slices.get(`${service.namespace}/${service.name}`);
  const endpoints = [...(slices?.values() ?? [])].flatMap((slice) => slice.endpoints);
  for (const each of view.bySource.Service) {
    if (!selects(each, service.labels) || !takesNamespace(each, view, service.namespace)) continue;
    for (const type of each.spec.serviceAddresses ?? ['LoadBalancerIP']) {
      const isLocal = each.spec.scope === 'Local' || (each.spec.scope === 'Auto' && isPolicyLocal(service, type));
      offer(collected, view, service, type, each, isLocal, ready(endpoints));
    }
  }
  annotated(collected, view, service, endpoints, slices !== undefined);
  return collected;
}

/** ClusterIPs only; with scope `cluster` also those of a Service without EndpointSlices, as in Kube-OVN. */
function annotated(
  collected: Collected,
  view: View,
  service: Service,
  endpoints: readonly Endpoint[],
  hasSlices: boolean,
): void {
  const { annotation } = service;
  if (annotation === undefined || annotation.scope === 'none') return;
  const key = `service ${service.namespace}/${service.name}`;
  if (annotation.scope === 'invalid') {
    collected.refuseAnnotation(key, annotation.text);
    return;
  }
  const isLocal = annotation.scope === 'local';
  const unknown: readonly Endpoint[] = hasSlices || isLocal ? [] : [{ node: '', isReady: true, isServing: true }];
  offer(collected, view, service, 'ClusterIP', byAnnotation, isLocal, ready([...endpoints, ...unknown]));
}

function isPolicyLocal({ isExternalPolicyLocal, isInternalPolicyLocal }: Service, type: AddressType): boolean {
  return type === 'ClusterIP' ? isInternalPolicyLocal : isExternalPolicyLocal;
}

/** The endpoints that kube-proxy would choose: the ready ones, or if there are none, those that still serve while terminating. */
function ready(endpoints: readonly Endpoint[]): readonly Endpoint[] {
  const found = endpoints.filter(({ isReady }) => isReady);
  return found.length > 0 ? found : endpoints.filter(({ isServing }) => isServing);
}

function addressesOf(service: Service, type: AddressType): readonly string[] {
  const addresses = {
    ClusterIP: service.clusterIps,
    ExternalIP: service.externalIps,
    LoadBalancerIP: service.loadBalancerIps,
  };
  return addresses[type];
}

function offer(
  collected: Collected,
  view: View,
  service: Service,
  type: AddressType,
  requester: Requester,
  isLocal: boolean,
  endpoints: readonly Endpoint[],
): void {
  const { name } = requester;
  const key = `service ${service.namespace}/${service.name}`;
  const addresses = addressesOf(service, type);
  if (addresses.length === 0) {
    if (type !== 'LoadBalancerIP' || service.type === 'LoadBalancer')
      collected.refuse(name, 'NoAddress', `${key} has no ${type}`);
    return;
  }
  if (service.isElsewhere) {
    collected.refuse(
      name,
      'VpcNotRouted',
      `${key} is not in Vpc ${defaultVpc}, and nodes reach the Services of that alone`,
    );
    return;
  }
  if (endpoints.length === 0) {
    collected.refuse(name, 'NoEndpoint', `${key} has no ready endpoint`);
    return;
  }
  const holders = [...new Set(endpoints.map(({ node }) => node))].filter((node) => announcers(view, name).has(node));
  if (isLocal && holders.length === 0) {
    const nodes = [...new Set(endpoints.map(({ node }) => node))].toSorted().join(', ');
    collected.refuse(
      name,
      'NoSpeaker',
      `the ready endpoints of ${key} are on ${nodes}, which announce nothing of this`,
    );
    return;
  }
  for (const ip of addresses) {
    // An author of a Service could otherwise take over the traffic of pods, nodes and EIPs (CVE-2020-8554).
    const owner = type === 'ExternalIP' ? ownerOf(view, ip) : undefined;
    const isGiven = type === 'LoadBalancerIP' && service.givenIps.includes(ip);
    const nodes = isLocal ? holders.toSorted() : undefined;
    if (owner === undefined) collected.address(view, requester, ip, nodes, `${type} of ${key}`, isGiven);
    else
      collected.refuse(
        name,
        'AddressInUse',
        `the external IP ${ip} of ${key} is an address of ${owner}`,
        hostPrefix(ip),
      );
  }
}

function ownerOf(view: View, ip: string): string | undefined {
  const owner = view.hosts.get(ip) ?? view.outside.get(ip);
  return owner ?? (isWithin(hostPrefix(ip), view.subnets) ? 'a subnet' : undefined);
}
