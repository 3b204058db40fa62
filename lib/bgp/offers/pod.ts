import type { BgpAnnotation, Pod, Subnet } from '../objects.ts';
import { Collected, hostPrefix } from './host-routes.ts';
import { type Requester, byAnnotation, type ObjectOffers } from './offer.ts';
import { announcers, isAnnounceable, isWithin, selects, takesNamespace, type View } from './view.ts';

/** Addresses of a pod, by advertisements of pods, by those of its subnet with scope Local, and by annotation. */
export function podOffers(view: View, pod: Pod): ObjectOffers {
  const collected = new Collected();
  if (pod.addresses.length === 0) return collected;
  const requesters = view.bySource.Pod.filter(
    (each) => selects(each, pod.labels) && takesNamespace(each, view, pod.namespace),
  );
  for (const { ip, subnet: name } of pod.addresses) {
    const subnet = view.state.subnets.get(name);
    for (const each of requesters) offer(collected, view, pod, ip, subnet, each, each.spec.scope !== 'Cluster');
    if (subnet === undefined || !isAnnounceable(subnet)) continue;
    for (const each of view.bySource.Subnet) {
      if (each.spec.scope === 'Local' && selects(each, subnet.labels))
        offer(collected, view, pod, ip, subnet, each, true);
    }
  }
  annotated(collected, view, pod);
  return collected;
}

function annotated(collected: Collected, view: View, pod: Pod): void {
  const key = `pod ${pod.namespace}/${pod.name}`;
  if (pod.annotation?.scope === 'invalid') {
    collected.refuseAnnotation(key, pod.annotation.text);
    return;
  }
  for (const { ip, subnet: name } of pod.addresses) {
    const subnet = view.state.subnets.get(name);
    const annotation: BgpAnnotation = pod.annotation ?? subnet?.annotation;
    if (annotation?.scope !== 'cluster' && annotation?.scope !== 'local') continue;
    // If the subnet is not announced, its own refusal explains that.
    if (pod.annotation === undefined && (subnet === undefined || !isAnnounceable(subnet))) continue;
    offer(collected, view, pod, ip, subnet, byAnnotation, annotation.scope === 'local');
  }
}

function offer(
  collected: Collected,
  view: View,
  pod: Pod,
  ip: string,
  subnet: Subnet | undefined,
  requester: Requester,
  isLocal: boolean,
): void {
  const key = `pod ${pod.namespace}/${pod.name}`;
  const { name } = requester;
  const host = hostPrefix(ip);
  if (!pod.isAlive) {
    collected.refuse(name, 'PodFinished', `${key} has finished`, host);
  } else if (subnet?.isPhysical === true) {
    const message = `${key} is in subnet ${subnet.name}, in a VLAN of the physical network, whose routers lead there`;
    collected.refuse(name, 'Underlay', message, host);
  } else if (subnet !== undefined && !isAnnounceable(subnet)) {
    collected.refuse(
      name,
      'VpcNotRouted',
      `${key} is in subnet ${subnet.name} of VPC ${subnet.vpc}, into which nodes have no route`,
      host,
    );
  } else if (!isWithin(host, view.subnets)) {
    collected.refuse(name, 'NotOwned', `address ${ip} of ${key} is in no subnet of the cluster`, host);
  } else if (!isLocal) {
    collected.address(view, requester, ip, undefined, `address of ${key}`);
  } else if (pod.node === '' || !pod.isReady) {
    collected.refuse(name, 'NotReady', `${key} is not ready`, host);
  } else if (announcers(view, name).has(pod.node)) {
    collected.address(view, requester, ip, [pod.node], `address of ${key}`);
  } else {
    collected.refuse(name, 'NoSpeaker', `${key} is on node ${pod.node}, which announces nothing of this`, host);
  }
}
