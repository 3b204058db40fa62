import type { BgpAdvertisementSpec } from '../../api/kinds/bgp-advertisement.ts';
import { annotation } from '../../api/names.ts';
import type { Problem } from '../../desired/problem.ts';

/** A prefix that one object brings to one advertisement. */
export interface Offer {
  readonly prefix: string;
  /** Name of the BgpAdvertisement, or `annotationAdvertisement`. */
  readonly advertisement: string;
  /** Nodes that announce it; undefined: all that the advertisement takes. */
  readonly nodes: readonly string[] | undefined;
  /** Source Interconnect: the cluster it is of, and what that says about it. */
  readonly remote?: { readonly cluster: string; readonly origin: string; readonly tags: readonly string[] };
}

/** Why an object that an advertisement selects is not announced, or not all of it. */
export interface Refusal extends Problem {
  readonly advertisement: string;
  /** Of the object's prefixes, the one that it is about; undefined: all. */
  readonly prefix?: string;
}

/** An offer and the object that makes it: `Pod default/web`. */
export interface Contribution {
  readonly object: string;
  readonly offer: Offer;
}

export interface ObjectOffers {
  readonly offers: readonly Offer[];
  readonly refusals: readonly Refusal[];
}

/** Stands for the annotation `ovn.kubernetes.io/bgp` where an advertisement is named; no object can have this name. */
export const annotationAdvertisement = annotation.bgp;

/** What asks for an object to be announced. */
export interface Asking {
  /** Of the BgpAdvertisement, or `annotationAdvertisement`. */
  readonly name: string;
  /** Undefined: an annotation. */
  readonly spec: BgpAdvertisementSpec | undefined;
}

export const byAnnotation: Asking = { name: annotationAdvertisement, spec: undefined };
