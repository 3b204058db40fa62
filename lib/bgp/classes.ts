// Prefixes that are announced alike form a class. The name of a class is computed from everything that decides its announcement: a
// change of one advertisement moves only its own prefixes to another class, and a restarted speaker finds the same names.
import { createHash } from 'node:crypto';
import { reservedAsn } from '../route-policy/bgp-attributes.ts';
import type { BgpAttributes } from '../api/kinds/bgp-advertisement.ts';
import { cidrContains, parseCidr } from '../net/cidr.ts';
import { parseIp } from '../net/ip.ts';
import type { BgpState, Labels } from './objects.ts';
import { annotationAdvertisement, type Contribution, type OfferGateway } from './offers/offer.ts';
import type { BgpPolicies, ExportVerdict, Outgoing } from './policies.ts';

export interface RouteClass {
  /** Twelve hexadecimal digits. */
  readonly id: string;
  /** The large community that paths of this class carry inside gobgpd; peers never get it. */
  readonly tag: string;
  /** Advertisements that announce it on this node, sorted. */
  readonly advertisements: readonly ClassAdvertisement[];
  /** Whether the node is being drained, so that routers should prefer other nodes (RFC 8326). */
  readonly isLeaving: boolean;
  /** Source Interconnect: the cluster of the prefixes. */
  readonly cluster: string | undefined;
  /** Source Eip. */
  readonly gateway: ClassGateway | undefined;
  /** Verdicts of RoutePolicies by BgpPeer; without peers that have no policy. */
  readonly verdicts: ReadonlyMap<string, ExportVerdict>;
}

/** The router port by which packets get to the addresses of a class. */
export interface ClassGateway {
  /** The port's own address; undefined if nodes route to the port themselves. */
  readonly address: string | undefined;
  /** Network of the Subnet outside. */
  readonly network: string;
  /** Whether this node has the port, may get it, or can have none because its switch is down. */
  readonly place: 'Here' | 'Elsewhere' | 'Down';
  /** This node has an address in the network. */
  readonly isNodeInNetwork: boolean;
}

export interface ClassAdvertisement {
  readonly name: string;
  readonly labels: Labels;
  /** Names of the BgpPeers that it is for; undefined if it is for all that select it. */
  readonly peers: readonly string[] | undefined;
  readonly attributes: BgpAttributes;
}

/** Upper half of the second word of the tags. The first word is the reserved AS; the remaining 48 bits are the class's name. */
const marker = 0xf157;

export class Classifier {
  readonly #node: string;
  /** InternalIPs of this node. */
  readonly #addresses: readonly string[];
  readonly #isSwitchDown: boolean;
  readonly #isLeaving: boolean;
  readonly #policies: BgpPolicies;
  readonly #advertisements = new Map<string, ClassAdvertisement>();
  readonly #classes = new Map<string, RouteClass>();

  constructor(state: BgpState, policies: BgpPolicies, isLeaving: boolean) {
    this.#node = state.node;
    this.#addresses = state.nodes.get(state.node)?.addresses ?? [];
    this.#isSwitchDown = state.isSwitchDown === true;
    this.#policies = policies;
    this.#isLeaving = isLeaving;
    const implicit = { name: annotationAdvertisement, labels: {}, peers: undefined, attributes: {} };
    this.#advertisements.set(annotationAdvertisement, implicit);
    for (const { name, labels, spec } of state.advertisements.values()) {
      if ('value' in spec)
        this.#advertisements.set(name, { name, labels, peers: spec.value.peers, attributes: spec.value.attributes });
    }
  }

  /** The class of a prefix that objects contribute on this node. */
  classOf(prefix: string, contributions: readonly Contribution[]): RouteClass {
    const offers = contributions.map(({ offer }) => offer);
    const names = [...new Set(offers.map(({ advertisement }) => advertisement))].toSorted();
    const remote = offers.find((offer) => offer.remote !== undefined)?.remote;
    const gateway = this.#gatewayOf(offers.find((offer) => offer.gateway !== undefined)?.gateway);
    const outgoing: Outgoing = {
      prefix,
      sources: [...new Set(contributions.map(({ object }) => object.slice(0, object.indexOf(' '))))],
      cluster: remote?.cluster,
      origin: remote?.origin ?? 'connected',
      tags: remote?.tags ?? [],
    };
    const verdicts = this.#policies.exporting.map(
      (peer) => [peer, this.#policies.exportVerdict(peer, outgoing)] as const,
    );
    const key = JSON.stringify([names, remote?.cluster, gateway, verdicts]);
    const known = this.#classes.get(key);
    if (known) return known;
    const made = this.#make(names, remote?.cluster, gateway, new Map(verdicts));
    this.#classes.set(key, made);
    return made;
  }

  #make(
    names: readonly string[],
    cluster: string | undefined,
    gateway: ClassGateway | undefined,
    verdicts: ReadonlyMap<string, ExportVerdict>,
  ): RouteClass {
    const advertisements = names.flatMap((name) => this.#advertisements.get(name) ?? []);
    const id = createHash('sha256')
      .update(
        canonicalJson([advertisements, this.#isLeaving, cluster ?? '', [...verdicts], ...(gateway ? [gateway] : [])]),
      )
      .digest('hex')
      .slice(0, 12);
    const words = [reservedAsn, marker * 0x10000 + parseInt(id.slice(0, 4), 16), parseInt(id.slice(4), 16)];
    return { id, tag: words.join(':'), advertisements, isLeaving: this.#isLeaving, cluster, gateway, verdicts };
  }

  #gatewayOf(offered: OfferGateway | undefined): ClassGateway | undefined {
    if (offered === undefined) return undefined;
    const { holder, address, network } = offered;
    const isNodeInNetwork = this.#addresses.some((each) => isInNetwork(each, network));
    const place = this.#isSwitchDown ? 'Down' : holder === this.#node ? 'Here' : 'Elsewhere';
    return { address, network, place, isNodeInNetwork };
  }
}

/** False for a text that is not an address, such as one with a link. */
export function isInNetwork(address: string, network: string): boolean {
  const [ip, cidr] = [parseIp(address), parseCidr(network)];
  return ip !== undefined && cidr !== undefined && cidrContains(cidr, ip);
}

/** JSON with sorted keys: equal values have equal texts. */
function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) =>
    inner !== null && typeof inner === 'object' && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}
