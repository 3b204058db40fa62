/**
 * Makes the cluster's databases those of a member. In: this cluster, its networks, the hub's view, and which clusters
 * changed. Out: desired rows to the NB and SB targets, and what became of each remote cluster. Called by the agent on every
 * change; of a cluster that did not change only the paths are looked at. Rules: before the hub has spoken nothing is
 * set, and nothing is pruned while it expects members of which nothing is known.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { defaultVpc } from '../../lib/api/names.ts';
import { formatCidr } from '../../lib/net/cidr.ts';
import type { OvsdbTarget } from '../../lib/desired/ovsdb-target.ts';
import type { Gateway, Member } from '../model/messages.ts';
import { judgeRoutes, wasTaken, type RemoteContext } from '../settle/judgement.ts';
import { isUnreachable, type PathFacts, type PathVerdict } from '../settle/paths.ts';
import type { PolicySet } from '../../lib/route-policy/compile.ts';
import { planRemote } from '../plan/remote.ts';
import { acceptGateways, partingGateways, type AcceptedGateways, type PartingContext } from '../settle/gateways.ts';
import { remoteOwner, transitOwner } from '../model/owners.ts';
import { handleOf } from '../model/port-names.ts';
import { offersOf, offersOfEdges, usableOf, useRoutes } from '../settle/route-use.ts';
import { bfdOwner, exemptOwner, planBfd, planExemption, planPath, planZone, zoneOwner } from '../plan/transit.ts';
import { noEdges, type Edges } from '../model/edges.ts';
import type { OwnNetwork } from '../model/networks.ts';
import { OfferTable } from '../state/offers.ts';
import { ownOffers } from '../model/offers.ts';
import { PathStates } from '../settle/path-history.ts';
import { NativePrefixes } from '../state/native-prefixes.ts';
import { Remotes, type RemoteState, type RemoteView } from '../settle/remotes.ts';

const leftoverMs = 200;

export interface NetworkTargets {
  readonly northbound: OvsdbTarget;
  readonly southbound: OvsdbTarget;
}

export interface NetworkInput extends PartingContext {
  /** Chassis that others have tunnels to. */
  readonly gateways: readonly string[];
  readonly networks: ReadonlyMap<string, OwnNetwork>;
  /** Members the hub will know again: what there is of them stays. */
  readonly expected: ReadonlySet<string>;
  readonly policies: PolicySet;
  /** What routers of this cluster lead to. */
  readonly edges: Edges;
  /** As `RemoteContext` has them. */
  readonly aggregates: RemoteContext['aggregates'];
  /** BFD state of a tunnel by its two chassis; undefined where nothing is reported. */
  readonly tunnel: (own: string, other: string) => string | undefined;
  /** Addresses of next hops that carried a cluster's traffic when the process before this one ended, by its handle. */
  readonly carried: (handle: string) => ReadonlySet<string> | undefined;
  /** Prefixes that had routes to a cluster when the process before this one ended, by its handle. */
  readonly routed: (handle: string) => ReadonlySet<string> | undefined;
  /** Chassis of a cluster that were there when this process began, by its handle. */
  readonly written: (handle: string) => readonly Gateway[];
  readonly time: { readonly nowMs: number; readonly holdDownMs: number };
}

export class Network {
  readonly #targets: NetworkTargets;
  readonly #remotes = new Remotes();
  readonly #paths = new PathStates();
  readonly #offers = new OfferTable();
  readonly natives = new NativePrefixes();
  /** Name of each remote cluster → the handle that its rows are known by, and back. */
  readonly #handles = new Map<string, string>();
  readonly #names = new Map<string, string>();
  /** Clusters with gateways that part. */
  readonly #parting = new Set<string>();
  /** Owners of the northbound database that are no remote clusters'. */
  #owners: ReadonlySet<string> = new Set();
  #context: RemoteContext | undefined;
  #contextText = '';
  #edges: Edges = noEdges;
  #isSealed = false;

  constructor(targets: NetworkTargets) {
    this.#targets = targets;
  }

  get remotes(): RemoteView {
    return this.#remotes;
  }

  /** When a path has rested long enough: Infinity while none rests. */
  get wakeMs(): number {
    return this.#paths.wakeMs;
  }

  /**
   * Members that changed, or `all` where something changed that the paths to all of them depend on. Returns those of which
   * something is different now.
   */
  apply(input: NetworkInput, dirty: ReadonlySet<string> | 'all'): ReadonlySet<string> {
    this.#applyOwn(input);
    const isNewContext = this.#renewContext(input);
    const names = new Set(
      isNewContext || dirty === 'all'
        ? [...input.members.keys(), ...this.#remotes.names()]
        : [...dirty, ...this.#parting, ...this.#paths.due(input.time.nowMs)],
    );
    for (const name of names) this.#succeed(name, input.members);
    const affected = this.natives.update(names, input.members);
    for (const name of affected) names.add(name);
    const changed = new Set<string>();
    const rivals = new Set(this.#takeEdges(input.edges));
    for (const name of names) {
      const news = this.#look(name, input, affected.has(name));
      if (news === undefined) continue;
      changed.add(name);
      for (const rival of news) rivals.add(rival);
    }
    for (const name of rivals) if (this.#remotes.get(name) !== undefined) changed.add(name);
    for (const name of changed) this.#plan(name);
    this.#seal(input);
    return changed;
  }

  /**
   * Takes everything back; resolves, where there is a signal, when no row of ours is left or at its end. Entries in others' rows carry no owner: those of
   * `cluster`, which an earlier process may have made, are claimed first.
   */
  async withdraw(cluster?: string, signal?: AbortSignal): Promise<void> {
    const { northbound, southbound } = this.#targets;
    if (cluster !== undefined) {
      northbound.set(zoneOwner, planZone(cluster));
      this.#owners = new Set([...this.#owners, zoneOwner]);
      await northbound.untilApplied();
      if (signal?.aborted === true) return;
    }
    for (const name of this.#remotes.names()) this.#forget(name);
    this.#setOwn(new Map());
    this.#context = undefined;
    this.natives.clear();
    this.#offers.clear();
    this.#edges = noEdges;
    this.#paths.clear();
    northbound.seal();
    southbound.seal();
    this.#isSealed = true;
    await Promise.all([northbound.untilApplied(), southbound.untilApplied()]);
    if (signal === undefined) return;
    // What a database refused is tried again by the targets; leaving is over when nothing is left.
    const isOver = (): boolean => signal.aborted || northbound.owners().length + southbound.owners().length === 0;
    while (!isOver()) await sleep(leftoverMs, undefined, { signal }).catch(() => undefined);
  }

  #applyOwn({ local, gateways, networks }: NetworkInput): void {
    const plans = new Map([
      [zoneOwner, planZone(local.cluster)],
      [bfdOwner, planBfd(gateways)],
    ]);
    if (networks.values().some(({ vpc }) => vpc.router === defaultVpc))
      plans.set(exemptOwner, planExemption(defaultVpc));
    for (const { vpc, paths } of networks.values())
      for (const path of paths) plans.set(transitOwner(path.switch), planPath(local.handle, vpc.router, path));
    this.#setOwn(plans);
  }

  #setOwn(plans: ReadonlyMap<string, ReturnType<typeof planPath>>): void {
    const { northbound } = this.#targets;
    for (const [owner, plan] of plans)
      if (JSON.stringify(northbound.desired(owner)) !== JSON.stringify(plan)) northbound.set(owner, plan);
    for (const owner of this.#owners) if (!plans.has(owner)) northbound.drop(owner);
    this.#owners = new Set(plans.keys());
  }

  /** Who holds a port changes verdicts on paths, and nothing else of what a cluster's plan depends on. */
  #renewContext({ local, gateways, networks, policies, aggregates }: NetworkInput): boolean {
    const before = this.#context;
    const fixed = [...networks.values()].map(({ name, vpc, paths }) => [
      name,
      vpc.router,
      paths.map(({ switch: path, cidrs, tunnelKey, order }) => [path, cidrs, tunnelKey, order.length > 0]),
    ]);
    const stood = [...aggregates].map(([router, cidrs]) => [router, cidrs.map(formatCidr)]);
    const text = JSON.stringify([gateways, fixed, stood]);
    if (before?.local === local && before.policies === policies && this.#contextText === text) return false;
    this.#contextText = text;
    this.#context = { local, gateways, networks, policies, aggregates };
    return true;
  }

  /** Returns the clusters that offer what this one's routers lead to now, or no more. */
  #takeEdges(edges: Edges): ReadonlySet<string> {
    if (edges === this.#edges) return new Set();
    this.#edges = edges;
    return this.#offers.set(ownOffers, offersOfEdges(edges));
  }

  /** Judges a cluster's paths, and its routes where they may be judged otherwise than before. Undefined: all is as it was. */
  #look(name: string, input: NetworkInput, isAffected: boolean): ReadonlySet<string> | undefined {
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
    const gateways = isSame ? before.gateways : acceptGateways(member, input.local);
    const verdicts = this.#paths.judge(name, pathFacts(member, gateways, input), input.time);
    const written =
      before === undefined ? input.written(handleOf(member)) : [...before.gateways.gateways, ...before.parting];
    const parting = partingGateways(written, gateways.gateways, input);
    if (isSame && isEqual(before.verdicts, verdicts) && parting.length === before.parting.length) return undefined;
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
      parting,
      judgement,
      verdicts,
      isUnreachable: !member.foreign && isUnreachable(verdicts),
      uses: before?.uses ?? [],
      fdbOwners: before?.fdbOwners ?? new Set(),
    };
    this.#remotes.set(name, state);
    if (parting.length > 0) this.#parting.add(name);
    else this.#parting.delete(name);
    return this.#offers.set(name, offersOf(member, judgement.routes, usableOf(verdicts)));
  }

  #plan(name: string): void {
    const state = this.#remotes.get(name);
    if (state === undefined) return;
    const { northbound, southbound } = this.#targets;
    const { member, judgement, verdicts, gateways, parting, context } = state;
    const uses = useRoutes(name, judgement.routes, verdicts, (key) => this.#offers.all(key));
    const handle = handleOf(member);
    this.#follow(name, handle);
    const plan = planRemote({
      member,
      ownHandle: context.local.handle,
      ownGateways: context.gateways,
      networks: context.networks,
      gateways: gateways.gateways,
      parting,
      routes: uses,
    });
    northbound.set(remoteOwner(handle), plan.northbound);
    southbound.set(remoteOwner(handle), plan.southbound);
    for (const owner of state.fdbOwners) if (!plan.fdb.has(owner)) southbound.drop(owner);
    for (const [owner, desired] of plan.fdb) southbound.set(owner, desired);
    this.#remotes.set(name, { ...state, uses, fdbOwners: new Set(plan.fdb.keys()) });
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
    for (const owner of this.#remotes.get(name)?.fdbOwners ?? []) this.#targets.southbound.drop(owner);
    this.#follow(name, undefined);
    this.#remotes.delete(name);
    this.#parting.delete(name);
    this.#paths.forget(name);
  }

  /** A cluster that was renamed: its paths are those they were, and need no rest. */
  #succeed(name: string, members: ReadonlyMap<string, Member>): void {
    const member = members.get(name);
    const before = member === undefined ? undefined : this.#names.get(handleOf(member));
    if (before !== undefined && !members.has(before)) this.#paths.rename(before, name);
  }

  /** Rows of a handle that the cluster has no more go, unless another cluster has the handle now. */
  #follow(name: string, handle: string | undefined): void {
    const before = this.#handles.get(name);
    if (before === handle) return;
    this.#handles.delete(name);
    if (before !== undefined && this.#names.get(before) === name) {
      this.#names.delete(before);
      this.#targets.northbound.drop(remoteOwner(before));
      this.#targets.southbound.drop(remoteOwner(before));
    }
    if (handle === undefined) return;
    this.#handles.set(name, handle);
    this.#names.set(handle, name);
  }

  /** Rows of clusters that are expected, and never seen by this process, have owners that no plan has returned yet. */
  #seal({ expected, members }: NetworkInput): void {
    if (this.#isSealed || [...expected].some((name) => !members.has(name))) return;
    this.#isSealed = true;
    this.#targets.northbound.seal();
    this.#targets.southbound.seal();
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
          // While nobody has the port, the one that should have it tells what it sees.
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
