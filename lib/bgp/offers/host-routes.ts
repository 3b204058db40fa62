// Addresses as prefixes: host routes, or the aggregates of the advertisement, limited to prefixes that the cluster owns.
import type { BgpAdvertisementSpec } from '../../api/kinds/bgp-advertisement.ts';
import { annotation } from '../../api/names.ts';
import { formatCidr, parseCidr } from '../../net/cidr.ts';
import { specialUse } from '../../net/special-use.ts';
import { familyOfAddress } from '../family.ts';
import { annotationAdvertisement } from './offer.ts';
import type { ObjectOffers, Offer, OfferGateway, Refusal, Requester } from './offer.ts';
import { isWithin, type View } from './view.ts';
import { familyOf, bitsOf } from '../../net/ip.ts';

export function hostPrefix(ip: string): string {
  return `${ip}/${bitsOf(familyOf(ip))}`;
}

/** Collects the offers and refusals of one object. Refuses every prefix that must not be announced, whatever its source. */
export class Collected implements ObjectOffers {
  readonly #offers: Offer[] = [];
  readonly refusals: Refusal[] = [];

  get offers(): readonly Offer[] {
    return this.#offers;
  }

  /** Offers a prefix unchanged. @param what the object that it belongs to */
  prefix(what: string, offer: Offer): void {
    const use = useOf(offer.prefix);
    if (use === undefined) this.#offers.push(offer);
    else {
      const message = `prefix ${offer.prefix} of ${what} has addresses for ${use} and is never announced`;
      this.refuse(offer.advertisement, 'PrefixInvalid', message, offer.prefix);
    }
  }

  /** @param prefix the refused prefix of the object; undefined: all its prefixes */
  refuse(advertisement: string, code: string, message: string, prefix?: string): void {
    this.refusals.push({ advertisement, code, message, ...(prefix !== undefined && { prefix }) });
  }

  /** Refuses an annotation without a usable value. @param object kind and name @param text the annotation's value */
  refuseAnnotation(object: string, text: string, advice = 'write true, cluster or local'): void {
    const message = `${object} has ${annotation.bgp}=${text}; ${advice}`;
    this.refuse(annotationAdvertisement, 'AnnotationInvalid', message);
  }

  /** Offers one address. @param nodes the nodes that announce it; undefined: all @param isOurs whether it belongs to the cluster without further checks */
  address(
    view: View,
    { name, spec }: Requester,
    ip: string,
    nodes: readonly string[] | undefined,
    what: string,
    isOurs = false,
  ): void {
    const host = hostPrefix(ip);
    if (this.#isAnnounceable(view, name, ip, what, isOurs))
      this.#offers.push({ prefix: this.#aggregate(view, name, spec, ip, host), advertisement: name, nodes });
  }

  /** Offers one EIP, always as a host route: other addresses of an aggregate may have another router port. */
  eip(
    view: View,
    { name, spec }: Requester,
    ip: string,
    nodes: readonly string[] | undefined,
    gateway: OfferGateway,
    what: string,
  ): void {
    const prefix = hostPrefix(ip);
    if (!this.#isAnnounceable(view, name, ip, what, false)) return;
    this.#offers.push({ prefix, advertisement: name, nodes, gateway });
    const length = spec?.aggregation?.[`${familyOfAddress(ip)}Length`];
    if (length === undefined || length === bitsOf(familyOf(ip))) return;
    const message = `${what} ${ip} is announced by itself: other addresses of its aggregate may have another router port`;
    this.refuse(name, 'AggregateOfEips', message, prefix);
  }

  #isAnnounceable(view: View, advertisement: string, ip: string, what: string, isOurs: boolean): boolean {
    const host = hostPrefix(ip);
    const use = useOf(host);
    if (use !== undefined) {
      this.refuse(advertisement, 'AddressInvalid', `${what} ${ip} is for ${use} and is never announced`, host);
      return false;
    }
    if (isOurs || view.owned === undefined || isWithin(host, view.owned)) return true;
    const message = `${what} ${ip} is in no subnet, in no LoadBalancerPool and in none of ownedPrefixes of the BgpInstances; add its prefix there`;
    this.refuse(advertisement, 'NotOwned', message, host);
    return false;
  }

  #aggregate(view: View, name: string, spec: BgpAdvertisementSpec | undefined, ip: string, host: string): string {
    const length = spec?.aggregation?.[`${familyOfAddress(ip)}Length`];
    const cidr = length === undefined ? undefined : parseCidr(`${ip}/${length}`);
    if (cidr === undefined) return host;
    const aggregate = formatCidr(cidr);
    // An aggregate of a subnet's address must be within the subnets; of other addresses within the owned prefixes, if there is a list.
    const networks = isWithin(host, view.subnets) ? view.subnets : view.owned;
    const use = specialUse(cidr);
    if (use === undefined && (networks === undefined || isWithin(aggregate, networks))) return aggregate;
    const cause = use === undefined ? 'reaches outside of what the cluster owns' : `has addresses for ${use}`;
    this.refuse(
      name,
      'AggregateNotOwned',
      `the aggregate ${aggregate} of ${ip} ${cause}; the address is announced by itself`,
      host,
    );
    return host;
  }
}

/** The reserved use of addresses of a prefix, if it must not be announced. */
function useOf(prefix: string): string | undefined {
  const cidr = parseCidr(prefix);
  return cidr === undefined ? 'nothing' : specialUse(cidr);
}
