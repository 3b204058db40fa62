import { defaultVpc, joinSubnet } from '../../api/names.ts';
import type { Subnet } from '../objects.ts';
import { Collected } from './host-routes.ts';
import { annotationAdvertisement, type ObjectOffers } from './offer.ts';
import { isAnnounceable, isForAll, selects, type View } from './view.ts';

/** The CIDRs of a subnet. With scope Local its pods are announced in their place. */
export function subnetOffers(view: View, subnet: Subnet): ObjectOffers {
  const collected = new Collected();
  const requesters = view.bySource.Subnet.filter((each) => selects(each, subnet.labels));
  for (const { name, spec } of requesters) {
    if (!isAnnounceable(subnet)) {
      // An empty selector names no subnet, so nothing is refused.
      if (!isForAll(spec.selector)) refuse(collected, name, subnet);
    } else if (spec.scope !== 'Local') offer(collected, name, subnet);
  }
  const { annotation } = subnet;
  if (annotation?.scope === 'invalid') {
    collected.refuseAnnotation(`subnet ${subnet.name}`, annotation.text);
  } else if (annotation !== undefined && annotation.scope !== 'none') {
    if (!isAnnounceable(subnet)) refuse(collected, annotationAdvertisement, subnet);
    else if (annotation.scope === 'cluster') offer(collected, annotationAdvertisement, subnet);
  }
  return collected;
}

function offer(collected: Collected, advertisement: string, { name, prefixes }: Subnet): void {
  for (const prefix of prefixes) collected.prefix(`subnet ${name}`, { prefix, advertisement, nodes: undefined });
  if (prefixes.length === 0)
    collected.refuse(advertisement, 'SubnetNotReady', `subnet ${name} has no accepted network; its conditions say why`);
}

function refuse(collected: Collected, advertisement: string, { name, vpc, isPhysical, isByNodes }: Subnet): void {
  if (isByNodes === true) {
    const message = `subnet ${name} is for addresses outside, each of which is announced by the node of its router port: use source Eip`;
    collected.refuse(advertisement, 'EipsInstead', message);
  } else if (isPhysical === true) {
    collected.refuse(
      advertisement,
      'Underlay',
      `subnet ${name} is in a VLAN of the physical network, whose routers lead there: nodes do not, so it is not announced`,
    );
  } else if (name === joinSubnet) {
    collected.refuse(
      advertisement,
      'JoinSubnet',
      'the join subnet is between nodes and routers and is never announced',
    );
  } else {
    collected.refuse(
      advertisement,
      'VpcNotRouted',
      `subnet ${name} is in VPC ${vpc}; nodes have routes into ${defaultVpc} only, so it is not announced`,
    );
  }
}
