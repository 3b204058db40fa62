/**
 * Which gateways, paths and prefixes of each other cluster are used here. In: this cluster, its networks, the members
 * as the hub reports them, and which clusters changed. Out: the state of each cluster, and the clusters whose rows may
 * differ now. Keeps what depends on history: hold-downs, prefixes in use, handles. If a cluster did not change, only its
 * paths are judged again.
 */
import type { PolicySet } from '../../lib/route-policy/compile.ts';
import { formatCidr } from '../../lib/net/cidr.ts';
import { noEdges, type Edges } from '../model/edges.ts';
import type { Gateway, Member } from '../model/messages.ts';
import type { OwnNetwork } from '../model/networks.ts';
import { ownOffers } from '../model/offers.ts';
import { handleOf } from '../model/port-names.ts';
import { NativePrefixes } from '../state/native-prefixes.ts';
import { OfferTable } from '../state/offers.ts';
import type { EncryptionFacts } from './encryption.ts';
import type { AcceptedGateways } from './accepted-gateways.ts';
import { acceptGateways, departingGateways, type DepartureContext } from './gateways.ts';
import { judgeRoutes, wasTaken, type RemoteContext } from './judgement.ts';
import { PathHistory } from './path-history.ts';
import { isUnreachable, type PathFacts, type PathVerdict } from './paths.ts';
import { Remotes, type RemoteState, type RemoteView } from './remotes.ts';
import { offersOf, offersOfEdges, usableOf, useRoutes } from './route-use.ts';

export interface NetworkInput extends DepartureContext {
  /** Chassis that others have tunnels to. */
  readonly gateways: readonly string[];
  readonly networks: ReadonlyMap<string, OwnNetwork>;
  /** Members whose state the hub has lost and expects again: their rows stay. */
  readonly expected: ReadonlySet<string>;
  readonly policies: PolicySet;
  /** Absent: none. */
  readonly encryption?: EncryptionFacts;
  /** Prefixes that the BGP speakers of this cluster learned from routers. */
  readonly edges: Edges;
  /** As `RemoteContext` has them. */
  readonly aggregates: RemoteContext['aggregates'];
  /** BFD state of a tunnel by its two chassis; undefined if nothing is reported. */
  readonly tunnel: (own: string, other: string) => string | undefined;
  /** Next hops of a cluster's routes when the former process ended, by the cluster's handle. */
  readonly carried: (handle: string) => ReadonlySet<string> | undefined;
  /** Prefixes of a cluster's routes when the former process ended, by the cluster's handle. */
  readonly routed: (handle: string) => ReadonlySet<string> | undefined;
  /** Remote chassis of a cluster in the database when this process began, by the cluster's handle. */
  readonly written: (handle: string) => readonly Gateway[];
  readonly time: { readonly nowMs: number; readonly holdDownMs: number };
}

/** The changes of one step. */
export interface RemoteChanges {
  /** Clusters whose state has changed, including removed ones. */
  readonly changed: ReadonlySet<string>;
  /** Removed clusters. */
  readonly gone: readonly string[];
  /** Handles that no cluster has any more. */
  readonly released: readonly string[];
  /** Every member that the hub expects is known, so that rows that no plan returned have no owner left. */
  readonly isComplete: boolean;
}

export class RemoteClusters {
  readonly natives = new NativePrefixes();
  readonly #remotes = new Remotes();
  readonly #paths = new PathHistory();
  readonly #offers = new OfferTable();
  /** Name of each remote cluster → the handle that its rows are known by, and back. */
  readonly #handles = new Map<string, string>();
  readonly #names = new Map<string, string>();
  /** Clusters with departing gateways. */
  readonly #departing = new Set<string>();
  #context: RemoteContext | undefined;
  #contextText = '';
  #edges: Edges = noEdges;
  #gone: string[] = [];
  #released: string[] = [];

  get view(): RemoteView {
    return this.#remotes;
  }

  /** When the first hold-down ends: Infinity without one. */
  get wakeMs(): number {
    return this.#paths.wakeMs;
  }

  /** `dirty`: members that changed, or `all` where something changed that the paths to all of them depend on. */
  settle(input: NetworkInput, dirty: ReadonlySet<string> | 'all'): RemoteChanges {
    const isNewContext = this.#renewContext(input);
    const names = new Set(
      isNewContext || dirty === 'all'
        ? [...input.members.keys(), ...this.#remotes.names()]
        : [...dirty, ...this.#departing, ...this.#paths.due(input.time.nowMs)],
    );
    for (const name of names) this.#renamePaths(name, input.members);
    const affected = this.natives.update(names, input.members);
    for (const name of affected) names.add(name);
    const changed = new Set<string>();
    const rivals = new Set(this.#takeEdges(input.edges));
    for (const name of names) {
      const news = this.#judge(name, input, affected.has(name));
      if (news === undefined) continue;
      changed.add(name);
      for (const rival of news) rivals.add(rival);
    }
    for (const name of rivals) if (this.#remotes.get(name) !== undefined) changed.add(name);
    for (const name of changed) this.#choose(name);
    const isComplete = [...input.expected].every((name) => input.members.has(name));
    return { changed, isComplete, ...this.#takeGone() };
  }

  /** Forgets everything. */
  clear(): Pick<RemoteChanges, 'gone' | 'released'> {
    for (const name of this.#remotes.names()) this.#forget(name);
    this.#context = undefined;
    this.natives.clear();
    this.#offers.clear();
    this.#edges = noEdges;
    this.#paths.clear();
    return this.#takeGone();
  }

  #takeGone(): Pick<RemoteChanges, 'gone' | 'released'> {
    const taken = { gone: this.#gone, released: this.#released };
    this.#gone = [];
    this.#released = [];
    return taken;
  }

  /** The chassis that holds a port changes verdicts on paths, and nothing else that a cluster's plan depends on. */
  #renewContext({ local, gateways, networks, policies, aggregates, encryption }: NetworkInput): boolean {
    const before = this.#context;
    const fixed = [...networks.values()].map(({ name, vpc, paths }) => [
      name,
      vpc.router,
      paths.map(({ switch: path, cidrs, tunnelKey, order }) => [path, cidrs, tunnelKey, order.length > 0]),
    ]);
    const stood = [...aggregates].map(([router, cidrs]) => [router, cidrs.map(formatCidr)]);
    const text = JSON.stringify([gateways, fixed, stood, encryption]);
    if (before?.local === local && before.policies === policies && this.#contextText === text) return false;
    this.#contextText = text;
    this.#context = {
      local,
      gateways,
      networks,
      policies,
      aggregates,
      ...(encryption === undefined ? {} : { encryption }),
    };
    return true;
  }

  /** Returns the clusters that offer a prefix that this cluster has newly learned from its routers, or has lost. */
  #takeEdges(edges: Edges): ReadonlySet<string> {
    if (edges === this.#edges) return new Set();
    this.#edges = edges;
    return this.#offers.set(ownOffers, offersOfEdges(edges));
  }

  /** Judges a cluster's paths, and its routes where their verdicts may differ now. Undefined: nothing changed. */
  #judge(name: string, input: NetworkInput, isAffected: boolean): ReadonlySet<string> | undefined {
    const member = input.members.get(name);
    const context = this.#context;
    const before = this.#remotes.get(name);
    if (member === undefined || context === undefined) {
      if (before === undefined || input.expected.has(name)) return undefined;
      this.#forget(name);
      return this.#offers.set(name, new Map());
    }
    if (before === undefined && !this.#paths.has(name)) this.#adopt(member, input);
    const isSame = before?.member === member && before.context === context && !isAffected;
    const gateways = isSame ? before.gateways : acceptGateways(member, input.local, input.encryption);
    const verdicts = this.#paths.judge(name, pathFacts(member, gateways, input), input.time);
    const written =
      before === undefined ? input.written(handleOf(member)) : [...before.gateways.gateways, ...before.departing];
    const departing = departingGateways(written, gateways.gateways, input);
    if (isSame && isEqual(before.verdicts, verdicts) && departing.length === before.departing.length) return undefined;
    const judgement = isSame
      ? before.judgement
      : judgeRoutes(
          member,
          context,
          (network, cidr, cluster) => this.natives.holder(network, cidr, cluster),
          (prefix) =>
            before === undefined
              ? input.routed(handleOf(member))?.has(prefix) === true
              : wasTaken(before.judgement, prefix),
        );
    const state: RemoteState = {
      member,
      context,
      gateways,
      departing,
      judgement,
      verdicts,
      isUnreachable: !member.foreign && isUnreachable(verdicts),
      uses: before?.uses ?? [],
    };
    this.#remotes.set(name, state);
    if (departing.length > 0) this.#departing.add(name);
    else this.#departing.delete(name);
    return this.#offers.set(name, offersOf(member, judgement.routes, usableOf(verdicts)));
  }

  /** Chooses among the offers of each prefix, once all offers are known. */
  #choose(name: string): void {
    const state = this.#remotes.get(name);
    if (state === undefined) return;
    const { member, judgement, verdicts } = state;
    const uses = useRoutes(name, judgement.routes, verdicts, (key) => this.#offers.all(key));
    this.#assignHandle(name, handleOf(member));
    this.#remotes.set(name, { ...state, uses });
  }

  #adopt(member: Member, { carried, networks }: NetworkInput): void {
    const addresses = carried(handleOf(member));
    if (addresses === undefined) return;
    for (const [name, { paths }] of networks) {
      const switches = new Set(paths.map((path) => path.switch));
      const used = member.ports.filter(
        (port) => switches.has(port.switch) && port.networks.some((text) => addresses.has(text.split('/')[0] ?? '')),
      );
      this.#paths.adopt(
        member.name,
        name,
        used.map((port) => port.switch),
      );
    }
  }

  #forget(name: string): void {
    this.#gone.push(name);
    this.#assignHandle(name, undefined);
    this.#remotes.delete(name);
    this.#departing.delete(name);
    this.#paths.forget(name);
  }

  /** A renamed cluster keeps its paths, which need no rest. */
  #renamePaths(name: string, members: ReadonlyMap<string, Member>): void {
    const member = members.get(name);
    const before = member === undefined ? undefined : this.#names.get(handleOf(member));
    if (before !== undefined && !members.has(before)) this.#paths.rename(before, name);
  }

  /** A handle that the cluster has no more is released, unless another cluster has it now. */
  #assignHandle(name: string, handle: string | undefined): void {
    const before = this.#handles.get(name);
    if (before === handle) return;
    this.#handles.delete(name);
    if (before !== undefined && this.#names.get(before) === name) {
      this.#names.delete(before);
      this.#released.push(before);
    }
    if (handle === undefined) return;
    this.#handles.set(name, handle);
    this.#names.set(handle, name);
  }
}

function pathFacts(
  member: Member,
  { refused }: AcceptedGateways,
  { networks, tunnel }: NetworkInput,
): readonly PathFacts[] {
  const ports = new Map(member.ports.map((port) => [port.switch, port]));
  return [...networks].flatMap(([network, { paths }]) =>
    paths.flatMap(({ index, switch: name, isRetiring, ...own }): PathFacts[] => {
      const port = ports.get(name);
      if (port === undefined || own.order.length === 0) return [];
      return [
        {
          network,
          index,
          switch: name,
          isRetiring,
          local: { order: own.order, holder: own.holder, isDraining: own.phase !== 'settled' },
          remote: { order: port.gateways, holder: port.holder, isDraining: port.draining },
          refused,
          // While no chassis has the port, the one that should have it reports what it sees.
          tunnelTo: (chassis) => tunnel(own.holder === '' ? (own.order[0] ?? '') : own.holder, chassis),
        },
      ];
    }),
  );
}

function isEqual(a: readonly PathVerdict[], b: readonly PathVerdict[]): boolean {
  return (
    a.length === b.length &&
    a.every((verdict, index) => {
      const other = b[index];
      if (other === undefined) return false;
      return (Object.keys(verdict) as (keyof PathVerdict)[]).every((key) => verdict[key] === other[key]);
    })
  );
}
