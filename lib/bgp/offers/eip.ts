import type { Eip } from '../objects.ts';
import { Collected } from './host-routes.ts';
import { type Requester, byAnnotation, type ObjectOffers } from './offer.ts';
import { selects, type View } from './view.ts';

/** External addresses of gateways, once they work. */
export function eipOffers(view: View, eip: Eip): ObjectOffers {
  const collected = new Collected();
  const { annotation } = eip;
  const key = `${eip.kind} ${eip.name}`;
  const requesters: readonly Requester[] = view.bySource.Eip.filter((each) => selects(each, eip.labels));
  if (annotation?.scope === 'invalid' || annotation?.scope === 'local') {
    const text = annotation.scope === 'invalid' ? annotation.text : annotation.scope;
    collected.refuseAnnotation(key, text, 'an EIP is on no node, write true');
  }
  for (const each of [...requesters, ...(annotation?.scope === 'cluster' ? [byAnnotation] : [])]) {
    if (!eip.isReady) collected.refuse(each.name, 'NotReady', `${key} is not ready`);
    else for (const ip of eip.ips) collected.address(view, each, ip, undefined, `address of ${key}`);
  }
  return collected;
}
