/**
 * What a cluster and its nodes live on, and which prefixes of routers would take some of it. Pure: the one rule by which the
 * speaker refuses a prefix as `OwnPrefix`, the daemon makes no kernel route of it and the controller none of OVN. Each gives the
 * facts that it has; the rule is the same whatever a policy says.
 */
import { defaultVpc } from '../api/names.ts';
import { type Cidr, parseCidr } from '../net/cidr.ts';
import { bitsOf, type Family, isLinkLocal, parseIp } from '../net/ip.ts';
import { PrefixCover } from '../net/prefix-cover.ts';

/** An object with its networks or addresses, as text. */
export interface LifelineOwner {
  readonly name: string;
  readonly prefixes: readonly string[];
}

/** A network between clusters, with the VPC of this cluster that takes part in it. */
export interface TransitNetwork extends LifelineOwner {
  readonly vpc: string;
}

/** Another cluster with the prefixes that are theirs and not learned from routers. */
export interface OtherCluster {
  readonly name: string;
  readonly prefixes: readonly OfferedPrefix[];
}

export interface OfferedPrefix {
  readonly prefix: string;
  /** By which it is offered, and to the VPC of which. */
  readonly transitSwitch: string;
}

/** Texts that are neither an address nor a prefix count for nothing. */
export interface LifelineFacts {
  /** Of the default VPC, join among them. Addresses of other VPCs may be those of the fabric. */
  readonly subnets?: readonly LifelineOwner[];
  /** Networks of OVN routers. */
  readonly routers?: readonly LifelineOwner[];
  readonly transitSwitches?: readonly TransitNetwork[];
  /** What they offer to other VPCs is free. */
  readonly clusters?: readonly OtherCluster[];
  /** Service CIDRs and addresses of Services. */
  readonly services?: readonly string[];
  /** Tunnel addresses: nodes of this cluster, gateways of others. */
  readonly nodes?: readonly LifelineOwner[];
  readonly gateways?: readonly LifelineOwner[];
  /** Of other nodes and clusters, where it is not known whose. */
  readonly tunnelEnds?: readonly string[];
  readonly apiServers?: readonly string[];
  readonly hubs?: readonly string[];
  /** Neighbours of the node, and the addresses of their sessions. */
  readonly peers?: readonly LifelineOwner[];
  /** Next hops of the node's own routes. */
  readonly nextHops?: readonly string[];
  /** Networks that are on the node's own links. */
  readonly connected?: readonly string[];
}

interface Held {
  readonly value: bigint;
  readonly what: string;
}

export class Lifelines {
  readonly #networks = new PrefixCover();
  /** Addresses the node reaches by a router, in order: a wider prefix may take them, too. */
  readonly #remote: Readonly<Record<Family, readonly Held[]>>;

  constructor(facts: LifelineFacts) {
    const { connected = [], nextHops = [], services = [], transitSwitches = [], clusters = [] } = facts;
    const ours = new Set(transitSwitches.filter(({ vpc }) => vpc === defaultVpc).map(({ name }) => name));
    const offered = clusters.map(({ name, prefixes }) => ({
      name,
      prefixes: prefixes.filter(({ transitSwitch }) => ours.has(transitSwitch)).map(({ prefix }) => prefix),
    }));
    for (const [kind, owners] of [
      ['subnet', facts.subnets],
      ['transit switch', transitSwitches],
      ['cluster', offered],
      ['router', facts.routers],
    ] as const)
      for (const { name, prefixes } of owners ?? []) this.#own(prefixes, `${kind} ${name}`);
    const addresses = [...addressesOf(facts)];
    // Kubelets write those of nodes: an address is one, never a network.
    for (const [texts, what] of addresses)
      for (const text of texts) {
        const cidr = addressOf(text);
        if (cidr !== undefined) this.#networks.add(cidr, what);
      }
    this.#own(nextHops, "next hop of the node's own routes");
    this.#own(services, 'Services');
    this.#own(connected, "a network on the node's own links");
    const links = new PrefixCover();
    for (const cidr of networksOf(connected)) links.add(cidr, '');
    const remote = addresses.flatMap(([texts, what]) =>
      texts.flatMap((text) => {
        const cidr = addressOf(text);
        return cidr === undefined || links.coverOf(cidr) !== undefined ? [] : [{ cidr, what }];
      }),
    );
    const ordered = (family: Family): readonly Held[] =>
      remote
        .filter(({ cidr }) => cidr.family === family)
        .map(({ cidr, what }) => ({ value: cidr.network, what }))
        .sort((a, b) => (a.value < b.value ? -1 : a.value > b.value ? 1 : 0));
    this.#remote = { 4: ordered(4), 6: ordered(6) };
  }

  #own(texts: readonly string[], what: string): void {
    for (const cidr of networksOf(texts)) this.#networks.add(cidr, what);
  }

  /** The owner of all addresses of the prefix: no route for it, ever. */
  holderOf(cidr: Cidr): string | undefined {
    return this.#networks.coverOf(cidr);
  }

  /**
   * What the prefix, which may be wider, would lead elsewhere. Addresses on the node's own links are not among it: the kernel
   * goes to them by the link, whatever else there is.
   */
  takenBy({ family, network, prefix }: Cidr): string | undefined {
    const all = this.#remote[family];
    let [low, high] = [0, all.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((all[middle]?.value ?? 0n) < network) low = middle + 1;
      else high = middle;
    }
    const first = all[low];
    const hostBits = BigInt(bitsOf(family) - prefix);
    return first !== undefined && (first.value >> hostBits) << hostBits === network ? first.what : undefined;
  }
}

function* addressesOf({
  nodes = [],
  gateways = [],
  peers = [],
  tunnelEnds = [],
  apiServers = [],
  hubs = [],
}: LifelineFacts): Generator<readonly [texts: readonly string[], what: string]> {
  yield [apiServers, 'the API server'];
  yield [hubs, 'the hub'];
  for (const { name, prefixes } of peers) yield [prefixes, `BGP peer ${name}`];
  for (const { name, prefixes } of nodes) yield [prefixes, `node ${name}`];
  for (const { name, prefixes } of gateways) yield [prefixes, `a gateway of cluster ${name}`];
  yield [tunnelEnds, 'the other end of a tunnel'];
}

/** Link-local addresses are no matter of routes. */
function addressOf(text: string): Cidr | undefined {
  const ip = parseIp(text);
  if (ip === undefined || isLinkLocal(ip)) return undefined;
  return { family: ip.family, network: ip.value, prefix: bitsOf(ip.family) };
}

/** A default route is nobody's network. */
function networksOf(texts: readonly string[]): readonly Cidr[] {
  return texts.flatMap((text) => {
    const cidr = parseCidr(text) ?? addressOf(text);
    return cidr === undefined || cidr.prefix === 0 ? [] : [cidr];
  });
}
