/**
 * Lifelines of a cluster and its nodes, and the prefixes of routers that would cover them. Pure: the common rule by which the
 * speaker refuses a prefix as `OwnPrefix`, and the daemon and the controller create no kernel route and no OVN route for it. Each
 * room supplies the facts that it has; no policy overrides the rule.
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

/** A network between clusters, with the VPC of this cluster that is connected to it. */
export interface TransitNetwork extends LifelineOwner {
  readonly vpc: string;
}

/** Another cluster with its own prefixes, without those learned from routers. */
export interface OtherCluster {
  readonly name: string;
  readonly prefixes: readonly OfferedPrefix[];
}

export interface OfferedPrefix {
  readonly prefix: string;
  /** The transit switch over which the prefix is offered, to the VPC of that switch. */
  readonly transitSwitch: string;
}

/** Texts that are neither an address nor a prefix are ignored. */
export interface LifelineFacts {
  /** Subnets of the default VPC, including join. Addresses of other VPCs may overlap with the fabric's. */
  readonly subnets?: readonly LifelineOwner[];
  /** Networks of OVN routers. */
  readonly routers?: readonly LifelineOwner[];
  readonly transitSwitches?: readonly TransitNetwork[];
  /** Prefixes that they offer to other VPCs are not protected. */
  readonly clusters?: readonly OtherCluster[];
  /** Addresses outside that the cluster has. */
  readonly eips?: readonly LifelineOwner[];
  /** Service CIDRs and addresses of Services. */
  readonly services?: readonly string[];
  /** Tunnel addresses: nodes of this cluster, gateways of others. */
  readonly nodes?: readonly LifelineOwner[];
  readonly gateways?: readonly LifelineOwner[];
  /** Tunnel addresses of other nodes and clusters whose owner is unknown. */
  readonly tunnelEnds?: readonly string[];
  readonly apiServers?: readonly string[];
  readonly hubs?: readonly string[];
  /** Neighbours of the node, and the addresses of their sessions. */
  readonly peers?: readonly LifelineOwner[];
  /** Next hops of the node's own routes. */
  readonly nextHops?: readonly string[];
  /** Networks on the node's own links. */
  readonly connected?: readonly string[];
}

interface Held {
  readonly value: bigint;
  readonly what: string;
}

export class Lifelines {
  readonly #networks = new PrefixCover();
  /** Addresses that the node reaches through a router, in order: a wider prefix may cover them, too. */
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
    for (const { name, prefixes } of facts.eips ?? []) this.#own(prefixes, name);
    const addresses = [...addressesOf(facts)];
    // Kubelets write the addresses of nodes: each is a single address, never a network.
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

  /** The owner of all addresses of the prefix: there is never a route for it. */
  holderOf(cidr: Cidr): string | undefined {
    return this.#networks.coverOf(cidr);
  }

  /**
   * The lifeline that the prefix, which may be wider, would redirect. Addresses on the node's own links do not count: the kernel
   * reaches them through the link, whatever other routes there are.
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

/** Routes do not affect link-local addresses. */
function addressOf(text: string): Cidr | undefined {
  const ip = parseIp(text);
  if (ip === undefined || isLinkLocal(ip)) return undefined;
  return { family: ip.family, network: ip.value, prefix: bitsOf(ip.family) };
}

/** A default route is not a network of an owner. */
function networksOf(texts: readonly string[]): readonly Cidr[] {
  return texts.flatMap((text) => {
    const cidr = parseCidr(text) ?? addressOf(text);
    return cidr === undefined || cidr.prefix === 0 ? [] : [cidr];
  });
}
