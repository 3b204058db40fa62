import type { BgpAdvertisementSpec } from '../../api/kinds/bgp-advertisement.ts';
import { annotation } from '../../api/names.ts';
import type { Problem } from '../../desired/problem.ts';

/** A prefix that an object offers for an advertisement. */
export interface Offer {
  readonly prefix: string;
  /** Name of the BgpAdvertisement, or `annotationAdvertisement`. */
  readonly advertisement: string;
  /** Nodes that announce it; undefined: all nodes of the advertisement. */
  readonly nodes: readonly string[] | undefined;
  /** Source Interconnect: the cluster of the prefix, with the origin and tags that it reports. */
  readonly remote?: { readonly cluster: string; readonly origin: string; readonly tags: readonly string[] };
  /** Source Eip: the router port that translates the address. */
  readonly gateway?: OfferGateway;
}

/** The port of a router in a Subnet outside, by which packets get to an address. */
export interface OfferGateway {
  /** The node that has the port now. */
  readonly holder: string;
  /** The port's own address in the family of the EIP, which is the next hop; undefined if nodes route to the port themselves. */
  readonly address: string | undefined;
  /** Network of the Subnet outside. */
  readonly network: string;
}

/** Why an object that an advertisement selects is not or only partly announced. */
export interface Refusal extends Problem {
  readonly advertisement: string;
  /** The refused prefix of the object; undefined: all its prefixes. */
  readonly prefix?: string;
}

/** An offer with the object that makes it: `Pod default/web`. */
export interface Contribution {
  readonly object: string;
  readonly offer: Offer;
}

export interface ObjectOffers {
  readonly offers: readonly Offer[];
  readonly refusals: readonly Refusal[];
}

/** Name of the annotation `ovn.kubernetes.io/bgp` in place of an advertisement; no object can have this name. */
export const annotationAdvertisement = annotation.bgp;

/** The BgpAdvertisement or annotation that requests the announcement of an object. */
export interface Requester {
  /** Name of the BgpAdvertisement, or `annotationAdvertisement`. */
  readonly name: string;
  /** Undefined for an annotation. */
  readonly spec: BgpAdvertisementSpec | undefined;
}

export const byAnnotation: Requester = { name: annotationAdvertisement, spec: undefined };
