/**
 * The state of each remote cluster, with totals that are kept up to date by each change: no request adds up 10,000
 * routes.
 */
import type { Problem } from '../../lib/desired/problem.ts';
import type { Gateway, Member } from '../model/messages.ts';
import type { Judgement, RemoteContext } from './judgement.ts';
import type { PathVerdict } from './paths.ts';
import type { AcceptedGateways } from './accepted-gateways.ts';
import type { RouteUse } from './route-use.ts';

export interface RemoteState {
  readonly member: Member;
  readonly context: RemoteContext;
  readonly gateways: AcceptedGateways;
  /** Former gateways whose chassis stay until no group of the southbound database has them. */
  readonly departing: readonly Gateway[];
  readonly judgement: Judgement;
  readonly verdicts: readonly PathVerdict[];
  /** Every path to it is down. */
  readonly isUnreachable: boolean;
  readonly uses: readonly RouteUse[];
}

export interface Totals {
  /** Next hops in use, and those ready in case. */
  readonly active: number;
  readonly backup: number;
  readonly rejected: number;
  /** Of routes that are not active, by reason. */
  readonly reasons: ReadonlyMap<string, number>;
}

export interface RemoteView {
  get(name: string): RemoteState | undefined;
  entries(): IterableIterator<[string, RemoteState]>;
  readonly size: number;
  readonly totals: Totals;
  /** Clusters to which every path is down. */
  readonly unreachable: ReadonlySet<string>;
  /** Clusters that the loss of one gateway, here or there, would cut off; zones of plain ovn-ic are not among them. */
  readonly unprotected: ReadonlySet<string>;
  /** Clusters with encrypted tunnels. */
  readonly encrypted: ReadonlySet<string>;
  /** Clusters with routes or gateways that were refused because others have them. */
  readonly conflicts: ReadonlyMap<string, readonly Problem[]>;
}

/** Reasons to leave a route unused that are no conflict: policy, and passing states. */
const ordinary = new Set(['NoGateway', 'NextHopUnreachable', 'Denied', 'MaxPrefixes', 'Loop']);

/** Reasons why a gateway has no tunnel that the condition Encrypted has, and that are no conflict either. */
const withoutKey: ReadonlySet<string> = new Set(['PeerHasNoKey', 'NoOwnKey', 'HubTooOld', 'TunnelCIDROverlap']);

export class Remotes implements RemoteView {
  readonly #states = new Map<string, RemoteState>();
  readonly #counts = new Map<string, ReadonlyMap<string, number>>();
  readonly #sums = new Map<string, number>();
  readonly unreachable = new Set<string>();
  readonly unprotected = new Set<string>();
  readonly encrypted = new Set<string>();
  readonly conflicts = new Map<string, readonly Problem[]>();

  get(name: string): RemoteState | undefined {
    return this.#states.get(name);
  }
  entries(): IterableIterator<[string, RemoteState]> {
    return this.#states.entries();
  }
  names(): IterableIterator<string> {
    return this.#states.keys();
  }
  get size(): number {
    return this.#states.size;
  }

  set(name: string, state: RemoteState): void {
    this.#states.set(name, state);
    this.#count(name, countsOf(state));
    if (state.isUnreachable) this.unreachable.add(name);
    else this.unreachable.delete(name);
    if (state.member.foreign || isProtected(state)) this.unprotected.delete(name);
    else this.unprotected.add(name);
    if (state.gateways.encrypted.size > 0) this.encrypted.add(name);
    else this.encrypted.delete(name);
    const conflicts = conflictsOf(state);
    if (conflicts.length > 0) this.conflicts.set(name, conflicts);
    else this.conflicts.delete(name);
  }

  delete(name: string): void {
    this.#states.delete(name);
    this.#count(name, new Map());
    this.unreachable.delete(name);
    this.unprotected.delete(name);
    this.encrypted.delete(name);
    this.conflicts.delete(name);
  }

  get totals(): Totals {
    const sum = (kind: string): number => this.#sums.get(kind) ?? 0;
    const reasons = new Map<string, number>();
    for (const [kind, count] of this.#sums) if (kind.includes('/') && count > 0) reasons.set(kind, count);
    return { active: sum('Active'), backup: sum('Backup'), rejected: sum('Rejected'), reasons };
  }

  #count(name: string, after: ReadonlyMap<string, number>): void {
    for (const [kind, count] of this.#counts.get(name) ?? []) this.#sums.set(kind, (this.#sums.get(kind) ?? 0) - count);
    for (const [kind, count] of after) this.#sums.set(kind, (this.#sums.get(kind) ?? 0) + count);
    if (after.size === 0) this.#counts.delete(name);
    else this.#counts.set(name, after);
  }
}

/** State and, where not active, `state/reason`: how many routes. A route is active when one of its next hops is. */
function countsOf({ uses }: RemoteState): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  const add = (kind: string): void => void counts.set(kind, (counts.get(kind) ?? 0) + 1);
  for (const { rejected, hops } of uses) {
    if (rejected === undefined && hops.some(({ isUsed }) => isUsed)) {
      add('Active');
      continue;
    }
    const state = rejected === undefined ? 'Backup' : 'Rejected';
    add(state);
    add(`${state}/${(rejected ?? hops[0]?.problem)?.code ?? 'NextHopDown'}`);
  }
  return counts;
}

/** On every network that joins the two, at least two paths are up, on different gateways here and there. */
function isProtected({ verdicts }: RemoteState): boolean {
  const networks = Map.groupBy(verdicts, ({ network }) => network);
  return networks.values().every((paths) => {
    const up = paths.filter(({ state }) => state === 'Up');
    const ends = [up.map(({ localGateway }) => localGateway), up.map(({ remoteGateway }) => remoteGateway)];
    return ends.every((gateways) => new Set(gateways).size >= 2);
  });
}

function conflictsOf({ gateways, uses }: RemoteState): readonly Problem[] {
  const routes = uses.flatMap(({ rejected }) =>
    rejected === undefined || ordinary.has(rejected.code) ? [] : [rejected],
  );
  const refused = [...gateways.refused.values()].filter(({ code }) => !withoutKey.has(code));
  return [...refused, ...routes];
}
