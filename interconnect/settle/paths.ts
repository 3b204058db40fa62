/**
 * Which paths to another cluster carry traffic. Pure: the time comes by parameter.
 *
 * In: both ends of each path, the tunnel between them, and how long each path has been up. Out: a verdict for each
 * path, and which of them the routes use: all that are up, else those that are in hold-down, moving or draining; never
 * one whose tunnels are down or whose gateway is refused.
 */
import { isTunnelDown } from '../../lib/api/kinds/interconnect-gateway.ts';
import type { RemotePathStatus } from '../../lib/api/kinds/remote-cluster.ts';
import type { Problem } from '../../lib/desired/problem.ts';

export type PathState = RemotePathStatus['state'];

export interface PathEndFacts {
  /** Chassis in the order the end published; the first is its anchor. */
  readonly order: readonly string[];
  readonly holder: string;
  readonly isDraining: boolean;
}

export interface PathFacts {
  readonly network: string;
  readonly index: number;
  readonly switch: string;
  readonly isRetiring: boolean;
  readonly local: PathEndFacts;
  readonly remote: PathEndFacts;
  /** Gateways of the other cluster to which this one can have no tunnel, each with the reason. */
  readonly refused: ReadonlyMap<string, Problem>;
  /** BFD state of the local holder's tunnel to a chassis; undefined if nothing is reported. */
  readonly tunnelTo: (chassis: string) => string | undefined;
}

/** Lower is better; `dead` paths are never used. */
const rank = { up: 0, resting: 1, backup: 2, dead: 3 } as const;

export interface PathVerdict {
  readonly network: string;
  readonly index: number;
  readonly switch: string;
  readonly localGateway: string;
  readonly remoteGateway: string;
  readonly state: PathState;
  /** Empty while it is up. */
  readonly reason: string;
  readonly message: string;
  readonly bfd: string;
  readonly rank: number;
}

/** The memory of the paths of one network to one cluster between two rounds. */
export interface PathMemory {
  /** By logical switch: since when the path has been well. */
  readonly wellSinceMs: ReadonlyMap<string, number>;
  /** Since when some path has been up; undefined while none is. */
  readonly upSinceMs: number | undefined;
  /** When the last path went down; undefined if none was ever up. */
  readonly lostMs: number | undefined;
}

export interface PathsResult {
  readonly verdicts: readonly PathVerdict[];
  readonly memory: PathMemory;
  /** When a path has rested long enough, in milliseconds of the same clock. */
  readonly wakeMs: number | undefined;
}

/** Paths that come up this soon after the first come up together: there is no traffic to protect yet. */
const togetherMs = 2000;

export const noMemory: PathMemory = { wellSinceMs: new Map(), upSinceMs: undefined, lostMs: undefined };

/** All paths of one network to one cluster. */
export function settlePaths(
  facts: readonly PathFacts[],
  before: PathMemory,
  { nowMs, holdDownMs }: { readonly nowMs: number; readonly holdDownMs: number },
): PathsResult {
  const judged = facts.map(judge);
  const isWell = ({ state }: PathVerdict): boolean => state === 'Up';
  const wellSinceMs = new Map(
    judged.filter(isWell).map((verdict) => [verdict.switch, before.wellSinceMs.get(verdict.switch) ?? nowMs]),
  );
  const isRested = (verdict: PathVerdict): boolean =>
    isWell(verdict) && nowMs - (wellSinceMs.get(verdict.switch) ?? nowMs) >= holdDownMs;
  const isTogether = before.upSinceMs !== undefined && nowMs - before.upSinceMs < togetherMs;
  // Without another path that carries traffic, a hold-down would protect none. But paths that flap stay in hold-down,
  // where all of them are used for want of better ones: flapping must not change the routes each time.
  const isSteady = before.lostMs === undefined || nowMs - before.lostMs >= holdDownMs;
  const isAlone =
    isSteady && judged.every((verdict) => (isWell(verdict) ? !isRested(verdict) : verdict.rank > rank.resting));
  const wakes: number[] = [];
  const verdicts = judged.map((verdict) => {
    if (!isWell(verdict) || isRested(verdict)) return verdict;
    const sinceMs = wellSinceMs.get(verdict.switch) ?? nowMs;
    if (isAlone || isTogether) {
      wellSinceMs.set(verdict.switch, Math.min(sinceMs, nowMs - holdDownMs));
      return verdict;
    }
    wakes.push(sinceMs + holdDownMs);
    return rest(verdict);
  });
  const isUp = verdicts.some(isWell);
  const upSinceMs = isUp ? (before.upSinceMs ?? nowMs) : undefined;
  const lostMs = !isUp && before.upSinceMs !== undefined ? nowMs : before.lostMs;
  return {
    verdicts,
    memory: { wellSinceMs, upSinceMs, lostMs },
    wakeMs: wakes.length === 0 ? undefined : Math.min(...wakes),
  };
}

/** Logical switches of those verdicts that the routes of a network use. */
export function usablePaths(verdicts: readonly PathVerdict[], network: string): ReadonlySet<string> {
  const ours = verdicts.filter((verdict) => verdict.network === network);
  const best = Math.min(...ours.map((verdict) => verdict.rank));
  return new Set(
    best >= rank.dead ? [] : ours.filter((verdict) => verdict.rank === best).map((verdict) => verdict.switch),
  );
}

/** Every path to the cluster is down. */
export function isUnreachable(verdicts: readonly PathVerdict[]): boolean {
  return verdicts.length > 0 && verdicts.every((verdict) => verdict.rank === rank.dead);
}

/**
 * No gateway at this end measures the path any more: the status shows this instead, while routes follow the last
 * measurement.
 */
export function known(
  verdict: PathVerdict,
  state: 'Down' | 'Unknown',
  { code: reason, message }: Problem,
): PathVerdict {
  return { ...verdict, state, reason, message, bfd: 'unknown', rank: state === 'Down' ? rank.dead : rank.resting };
}

function rest(verdict: PathVerdict): PathVerdict {
  const message = `${verdict.switch} has recovered; traffic returns to it after the hold-down`;
  return { ...verdict, state: 'HoldDown', reason: 'HoldDown', message, rank: rank.resting };
}

/** The verdict without regard to hold-down. */
function judge(facts: PathFacts): PathVerdict {
  const { network, index, local, remote, refused, tunnelTo } = facts;
  const [anchor = ''] = remote.order;
  const remoteGateway = remote.holder === '' ? anchor : remote.holder;
  const bfd = (anchor === '' ? undefined : tunnelTo(anchor)) ?? 'unknown';
  const common = {
    network,
    index,
    switch: facts.switch,
    localGateway: local.holder,
    remoteGateway,
    bfd,
  };
  // A tunnel that was never made has no BFD session that could report it down.
  const refusal = refused.get(anchor) ?? refused.get(remoteGateway);
  if (refusal !== undefined)
    return { ...common, state: 'Down', reason: refusal.code, message: refusal.message, rank: rank.dead };
  if (isTunnelDown(bfd)) {
    const backup = remote.order.find((chassis) => !refused.has(chassis) && !isTunnelDown(tunnelTo(chassis)));
    if (backup !== undefined) {
      const message = `${anchor} of the other cluster sends nothing that reaches ${local.holder}; ${backup} forwards for ${facts.switch} instead of that gateway`;
      const standIn = { remoteGateway: backup, bfd: tunnelTo(backup) ?? 'unknown' };
      return { ...common, ...standIn, state: 'Moving', reason: 'FailedOver', message, rank: rank.backup };
    }
    const message = `no BFD packets arrive between ${local.holder} and ${anchor}: look at the underlay between them (udp 6081 both ways) and at Open vSwitch on both`;
    return { ...common, remoteGateway: anchor, state: 'Down', reason: 'TunnelDown', message, rank: rank.dead };
  }
  const [state, reason, message] = unsettled(facts) ?? ['Up', '', ''];
  return { ...common, state, reason, message, rank: state === 'Up' ? rank.up : rank.resting };
}

function unsettled({ local, remote, isRetiring, ...path }: PathFacts): [PathState, string, string] | undefined {
  const name = path.switch;
  if (isRetiring) return ['Draining', 'Retiring', `the hub removes ${name}, because the network gets fewer paths`];
  if (local.isDraining) return ['Draining', 'LocalDrain', `this cluster moves its end of ${name} to another gateway`];
  if (remote.isDraining)
    return ['Draining', 'RemoteDrain', `the other cluster moves its end of ${name} to another gateway`];
  const sides = [
    ['this cluster', local],
    ['the other cluster', remote],
  ] as const;
  for (const [side, { order, holder }] of sides) {
    if (holder === '') return ['Moving', 'Unclaimed', `no gateway of ${side} has taken its port on ${name}`];
    if (holder !== order[0])
      return [
        'Moving',
        'FailedOver',
        `${holder} forwards for ${name} in place of ${order[0] ?? 'no gateway'} of ${side}`,
      ];
  }
  return undefined;
}
