/**
 * A model of three clusters joined by the interconnect and two routers, built from the pure functions of the rooms: routes that
 * speakers learn and announce, prefixes that agents offer and use, and prefixes that the hub admits. One actor steps at a time, in any
 * order, with the latest output of the others. Simulated: routers, BGP paths, and the controller's choice between learned and remote prefixes.
 */
import type { BgpPeerSpec } from '../../lib/api/kinds/bgp-peer.ts';
import { bgpAdvertisementSpec } from '../../lib/api/kinds/bgp-advertisement.ts';
import type { BgpRoute } from '../../lib/api/kinds/bgp-route-slice.ts';
import { routePolicySpec } from '../../lib/api/kinds/route-policy.ts';
import { interconnectCommunity } from '../../lib/bgp/interconnect-community.ts';
import type { Remote } from '../../lib/bgp/objects.ts';
import { remoteOffers } from '../../lib/bgp/offers/remote.ts';
import type { View } from '../../lib/bgp/offers/view.ts';
import { BgpPolicies } from '../../lib/bgp/policies.ts';
import { cidrContains, parseCidr, type Cidr } from '../../lib/net/cidr.ts';
import { parseIp, type Ip } from '../../lib/net/ip.ts';
import { PrefixCover } from '../../lib/net/prefix-cover.ts';
import { Lifelines } from '../../lib/bgp/lifelines.ts';
import { compilePolicies } from '../../lib/route-policy/compile.ts';
import type { RoutePolicy } from '../../lib/route-policy/policy.ts';
import { admitPrefixes } from '../../interconnect/hub/settle/prefixes.ts';
import { Refusals } from '../../interconnect/hub/settle/refusals.ts';
import { Holdings } from '../../interconnect/hub/state/holdings.ts';
import { holdsNothing } from '../../interconnect/hub/model/holdings.ts';
import type { Network } from '../../interconnect/hub/model/record.ts';
import type { Member, Prefix } from '../../interconnect/model/messages.ts';
import { judgeRoutes } from '../../interconnect/settle/judgement.ts';
import type { PathVerdict } from '../../interconnect/settle/paths.ts';
import { offersOf, offersOfEdges, usableOf, useRoutes, type RouteUse } from '../../interconnect/settle/route-use.ts';
import { network, local as sample, west as sampleMember } from '../../interconnect/model/testing.ts';
import { noEdges, type Edges } from '../../interconnect/model/edges.ts';
import { Exports } from '../../interconnect/settle/exports.ts';
import { NativePrefixes } from '../../interconnect/state/native-prefixes.ts';
import { OfferTable } from '../../interconnect/state/offers.ts';
import { ownOffers } from '../../interconnect/model/offers.ts';
import { viewOf } from '../../lib/slices/testing.ts';
import { buildEdges, learnedView } from '../../interconnect/watch/edges.ts';
import { judge } from '../../speaker/plan/learned.ts';

const vpc = 'ovn-cluster';

function policy(name: string, spec: object): RoutePolicy {
  const parsed = routePolicySpec.parse(spec);
  const object = { uid: name, generation: 1, resourceVersion: '1', status: {}, inForce: undefined, from: undefined };
  return { name, ...object, spec: parsed };
}

interface Path {
  readonly asPath: readonly number[];
  readonly communities: readonly string[];
}

/** Paths that one end of a session advertises to the other, by prefix. */
type Announced = ReadonlyMap<string, Path>;
const nothingAnnounced: Announced = new Map();

export interface Actor {
  readonly name: string;
  readonly asn: number;
  readonly neighbours: Set<string>;
  /** Recomputes from the output of the other actors. Returns whether its own output changed. */
  step(world: World): boolean;
  announces(neighbour: string): Announced;
}

export class Router implements Actor {
  readonly neighbours = new Set<string>();
  readonly origins = new Set<string>();
  readonly name: string;
  readonly asn: number;
  /** Best path by prefix, with the neighbour that advertised it. */
  best = new Map<string, { readonly from: string; readonly path: Path }>();

  constructor(name: string, asn: number) {
    this.name = name;
    this.asn = asn;
  }

  step(world: World): boolean {
    const before = JSON.stringify([...this.best]);
    this.best = new Map(
      [...this.origins].map((prefix) => [prefix, { from: '', path: { asPath: [], communities: [] } }]),
    );
    for (const name of [...this.neighbours].sort()) {
      for (const [prefix, path] of world.actor(name).announces(this.name)) {
        if (path.asPath.includes(this.asn)) continue;
        const known = this.best.get(prefix);
        if (known === undefined || path.asPath.length < known.path.asPath.length)
          this.best.set(prefix, { from: name, path });
      }
    }
    return JSON.stringify([...this.best]) !== before;
  }

  announces(neighbour: string): Announced {
    if (!this.neighbours.has(neighbour)) return nothingAnnounced;
    const announced = [...this.best].filter(([, { from }]) => from !== neighbour);
    return new Map(
      announced.map(([prefix, { path }]) => [prefix, { ...path, asPath: [this.asn, ...path.asPath] }] as const),
    );
  }
}

export class Cluster implements Actor {
  readonly neighbours = new Set<string>();
  readonly name: string;
  readonly asn: number;
  readonly subnet: string;
  /** By router. */
  learned = new Map<string, readonly BgpRoute[]>();
  uses = new Map<string, readonly RouteUse[]>();
  request: readonly Prefix[] = [];
  isJoined = true;
  /** Whether the cluster also announces the prefixes of other clusters to routers. */
  tellsOfOthers = true;
  readonly #exports = new Exports();
  readonly #natives = new NativePrefixes();
  readonly #own: Lifelines;
  readonly #policies: ReturnType<typeof compilePolicies>;
  readonly #bgpPolicies: BgpPolicies;
  #edges: Edges = noEdges;

  constructor(name: string, asn: number, subnet: string, exporting: object) {
    this.name = name;
    this.asn = asn;
    this.subnet = subnet;
    this.#own = new Lifelines({ subnets: [{ name, prefixes: [subnet] }] });
    this.#policies = compilePolicies([policy('export', { direction: 'Export', ...exporting })]);
    const bgpPeers = ['r1', 'r2'];
    this.#bgpPolicies = new BgpPolicies([policy('all', { direction: 'Import', bgpPeers, rules: [{}] })]);
  }

  step(world: World): boolean {
    const before = JSON.stringify([...this.learned, ...this.uses, this.request]);
    this.#learn(world);
    this.#offer(world);
    this.#use(world);
    return JSON.stringify([...this.learned, ...this.uses, this.request]) !== before;
  }

  #learn(world: World): void {
    const instance = { asn: this.asn } as never;
    const table = { routes: this.#announced() } as never;
    this.learned = new Map(
      [...this.neighbours].sort().map((peer) => {
        const announced = [...world.actor(peer).announces(this.name)];
        const peerImport = { name: peer, interface: undefined, import: { vpc, node: true } as BgpPeerSpec['import'] };
        const routes = announced.flatMap(([prefix, { asPath, communities }]) => {
          const route = { nextHop: peer, asPath, communities } as never;
          const plan = { instance, routePolicies: this.#bgpPolicies, table };
          const verdict = plan.routePolicies.importVerdict(peer, { prefix, communities });
          const outcome = judge(plan, this.#own, peerImport, prefix, route, verdict);
          return typeof outcome === 'string' || 'holder' in outcome ? [] : [outcome];
        });
        return [peer, routes];
      }),
    );
  }

  #offer(world: World): void {
    const others = this.#others(world);
    this.#natives.update(
      new Set(world.clusters.map(({ name }) => name)),
      new Map(others.map((one) => [one.name, one])),
    );
    const metadata = { name: 'n', uid: 'u', resourceVersion: '1' };
    const states = [...this.learned].map(
      ([router, learned]) => [router, viewOf(learnedView, { metadata }, learned)] as const,
    );
    this.#edges = buildEdges({ states, isReady: () => true }, this.#edges);
    this.#exports.update({ local: this.#local, policies: this.#policies, edges: this.#edges, natives: this.#natives });
    this.request = this.isJoined ? this.#exports.on('ts') : [];
  }

  #use(world: World): void {
    const table = new OfferTable();
    table.set(ownOffers, offersOfEdges(this.#edges));
    const context = {
      local: this.#local,
      gateways: ['g'],
      networks: new Map([['ts', { ...network(), vpc: this.#local.vpcs.get(vpc) as never }]]),
      policies: compilePolicies([]),
      aggregates: this.#exports.aggregates,
    };
    const judged = this.#others(world).map((member) => {
      const { routes } = judgeRoutes(member, context, () => undefined);
      const verdicts = verdictsOf(world.isJoined(this.name, member.name));
      table.set(member.name, offersOf(member, routes, usableOf(verdicts)));
      return { name: member.name, routes, verdicts };
    });
    this.uses = new Map(
      judged.map(({ name, routes, verdicts }) => [name, useRoutes(name, routes, verdicts, (key) => table.all(key))]),
    );
  }

  #others(world: World): readonly Member[] {
    if (!this.isJoined) return [];
    return world.clusters.flatMap((other) => (other === this || !other.isJoined ? [] : [world.member(other.name)]));
  }

  get #local() {
    const cidr = parseCidr(this.subnet) as Cidr;
    const own = {
      router: vpc,
      routerId: 'uuid',
      prefixes: [{ cidr: this.subnet, origin: 'connected', tags: [] }],
      ranges: [{ name: 'subnet ovn-default', cidr }],
      links: [],
    };
    return (this.#view ??= {
      ...sample,
      cluster: this.name,
      handle: this.name,
      vpcs: new Map([[vpc, own]]),
      nodeAddresses: [],
    });
  }
  #view: typeof sample | undefined;

  /** Communities by prefix: the own subnet, and prefixes of other clusters with an active route. */
  #announced(): ReadonlyMap<string, readonly string[]> {
    const announced = new Map<string, readonly string[]>([[this.subnet, []]]);
    const advertisement = {
      name: 'ic',
      spec: bgpAdvertisementSpec.parse({ source: 'Interconnect' }),
      nodes: new Set(['n']),
    };
    const view = { bySource: { Interconnect: [advertisement] } } as unknown as View;
    for (const [name, uses] of this.tellsOfOthers ? this.uses : []) {
      const active = uses.filter(isActive).map(({ prefix, origin, tags }) => ({ prefix, origin, tags }));
      const remote: Remote = { name, labels: {}, routes: active };
      for (const { prefix } of remoteOffers(view, remote).offers) announced.set(prefix, [interconnectCommunity(name)]);
    }
    return announced;
  }

  announces(neighbour: string): Announced {
    if (!this.neighbours.has(neighbour)) return nothingAnnounced;
    return new Map(
      [...this.#announced()].map(([prefix, communities]) => [prefix, { asPath: [this.asn], communities }]),
    );
  }

  /** Next hops of a packet at the VPC's router: several for ECMP, none if the packet is dropped. */
  hops(address: Ip): readonly string[] {
    if (cidrContains(parseCidr(this.subnet) as Cidr, address)) return ['here'];
    const remote = [...this.uses].flatMap(([cluster, uses]) =>
      uses.filter(isActive).map(({ prefix }) => ({ prefix, to: cluster })),
    );
    const own = [...this.learned].flatMap(([router, routes]) =>
      routes.filter(({ prefix }) => !this.#isAnothers(prefix)).map(({ prefix }) => ({ prefix, to: router })),
    );
    return longest([...remote, ...own], address);
  }

  /** Like the controller: whether a prefix lies within a native prefix of another cluster. */
  #isAnothers(prefix: string): boolean {
    const cover = new PrefixCover();
    for (const [cluster, uses] of this.uses)
      for (const { prefix: text, origin, rejected } of uses)
        if (origin !== 'bgp' && rejected === undefined) cover.add(parseCidr(text) as Cidr, cluster);
    return cover.coverOf(parseCidr(prefix) as Cidr) !== undefined;
  }
}

function isActive({ hops, rejected }: RouteUse): boolean {
  return rejected === undefined && hops.some(({ isUsed }) => isUsed);
}

function verdictsOf(isUp: boolean): readonly PathVerdict[] {
  return ['ts', 'ts1'].map((name, index) => ({
    network: 'ts',
    index,
    switch: name,
    localGateway: 'a',
    remoteGateway: 'b',
    state: isUp ? 'Up' : 'Down',
    reason: '',
    message: '',
    bfd: isUp ? 'up' : 'down',
    rank: isUp ? 0 : 3,
  }));
}

function longest(routes: readonly { readonly prefix: string; readonly to: string }[], address: Ip): readonly string[] {
  const held = routes.flatMap(({ prefix, to }) => {
    const cidr = parseCidr(prefix) as Cidr;
    return cidrContains(cidr, address) ? [{ mask: cidr.prefix, to }] : [];
  });
  const most = Math.max(-1, ...held.map(({ mask }) => mask));
  return [...new Set(held.filter(({ mask }) => mask === most).map(({ to }) => to))];
}

/** The hub admits the complete latest request of each member, one member after the other. */
class Hub {
  readonly #holdings = new Holdings();
  readonly admitted = new Map<string, readonly Prefix[]>();

  step(world: World): boolean {
    const before = JSON.stringify([...this.admitted]);
    const ts: Network = { name: 'ts', cidrs: ['100.100.0.0/16'], definedBy: '', clusters: [], paths: 2, switches: [] };
    for (const { name, request } of world.clusters) {
      const own = (this.admitted.get(name) ?? []).filter(({ origin }) => origin !== 'bgp').map(({ cidr }) => cidr);
      const limits = { allowedPrefixes: [], maxPrefixes: 1000 };
      const others = this.#holdings.others(name);
      const facts = {
        cluster: name,
        handle: name,
        network: ts,
        transits: [ts],
        others,
        limits,
        own: new Set(own),
        room: 1000,
      };
      const prefixes = admitPrefixes(request, facts, new Refusals());
      this.admitted.set(name, prefixes);
      const held = prefixes.map(({ cidr, origin }) => ({ network: 'ts', cidr, isLearned: origin === 'bgp' }));
      this.#holdings.set(name, { ...holdsNothing, prefixes: held });
    }
    return JSON.stringify([...this.admitted]) !== before;
  }
}

export class World {
  readonly routers: readonly Router[];
  readonly clusters: readonly Cluster[];
  readonly hub = new Hub();
  /** Pairs of clusters, `a b`, that have no path to each other. */
  readonly cut = new Set<string>();

  constructor(routers: readonly Router[], clusters: readonly Cluster[]) {
    this.routers = routers;
    this.clusters = clusters;
  }

  actor(name: string): Router | Cluster {
    const found = [...this.routers, ...this.clusters].find((one) => one.name === name);
    if (found === undefined) throw new Error(`no ${name}`);
    return found;
  }

  link(a: string, b: string, isUp = true): void {
    for (const [from, to] of [
      [a, b],
      [b, a],
    ] as const)
      if (isUp) this.actor(from).neighbours.add(to);
      else this.actor(from).neighbours.delete(to);
  }

  isJoined(a: string, b: string): boolean {
    return !this.cut.has([a, b].sort().join(' '));
  }

  /** The member as the hub publishes it. */
  member(name: string): Member {
    const routes = (this.hub.admitted.get(name) ?? []).map(({ cidr, origin, tags, via }) => ({
      transitSwitch: 'ts',
      prefix: cidr,
      origin,
      tags,
      via: [...via, name],
      nextHops: [
        { switch: 'ts', address: '100.100.0.2' },
        { switch: 'ts1', address: '100.100.32.2' },
      ],
    }));
    return { ...sampleMember, name, routes };
  }

  /** Steps all actors, each round in another order, until no output changes. @throws Error if that takes too many rounds */
  settle(random: (limit: number) => number, mostRounds = 40): number {
    const actors = [...this.routers, ...this.clusters, this.hub];
    for (let round = 1; round <= mostRounds; round += 1) {
      const order = actors.map((actor) => ({ actor, at: random(1 << 20) })).sort((a, b) => a.at - b.at);
      const news = order.map(({ actor }) => actor.step(this));
      if (!news.includes(true)) return round;
    }
    throw new Error(`still changing after ${mostRounds} rounds:\n${this.describe()}`);
  }

  /** Destinations of packets from a cluster or router: names of clusters and routers, `dropped`, or `loop` with the path. */
  ends(from: string, address: string): ReadonlySet<string> {
    const ip = parseIp(address) as Ip;
    const ends = new Set<string>();
    const walk = (at: string, way: readonly string[]): void => {
      if (way.includes(at)) return void ends.add(`loop ${[...way, at].join(' ')}`);
      const hops = this.#hops(at, ip);
      if (hops.length === 0) ends.add('dropped');
      for (const hop of hops)
        if (hop === 'here') ends.add(at);
        else walk(hop, [...way, at]);
    };
    walk(from, []);
    return ends;
  }

  #hops(at: string, ip: Ip): readonly string[] {
    const actor = this.actor(at);
    if (actor instanceof Cluster) return actor.hops(ip);
    const routes = [...actor.best].map(([prefix, { from }]) => ({ prefix, to: from === '' ? 'here' : from }));
    return longest(routes, ip);
  }

  /** Actors that still have state about a prefix. */
  traces(prefix: string): readonly string[] {
    return [
      ...this.routers.flatMap(({ name, best }) => (best.has(prefix) ? [name] : [])),
      ...this.clusters.flatMap(({ name, learned, uses, request }) => [
        ...[...learned.values()].flat().flatMap((one) => (one.prefix === prefix ? [`${name} learned`] : [])),
        ...[...uses.values()].flat().flatMap((one) => (one.prefix === prefix ? [`${name} takes`] : [])),
        ...request.flatMap(({ cidr }) => (cidr === prefix ? [`${name} offers`] : [])),
      ]),
      ...[...this.hub.admitted].flatMap(([name, held]) =>
        held.some(({ cidr }) => cidr === prefix) ? [`hub holds for ${name}`] : [],
      ),
    ];
  }

  describe(): string {
    const routers = this.routers.map(({ name, best }) => `${name}: ${JSON.stringify([...best])}`);
    const clusters = this.clusters.map(
      ({ name, learned, uses, request }) =>
        `${name}: learned ${JSON.stringify([...learned])}\n  offers ${JSON.stringify(request)}\n  takes ${JSON.stringify([...uses].map(([from, list]) => [from, list.map((one) => [one.prefix, one.origin, isActive(one), one.rejected?.code])]))}`,
    );
    return [...routers, ...clusters].join('\n');
  }
}
