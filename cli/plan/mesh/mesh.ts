/**
 * All members of a hub and all pairs of them. In: the HubMembers. Out: the value that `ic status --all` shows and prints as JSON. Pure.
 * The hub knows sessions and what it accepted; how paths stand is what each member last reported, and a pair has two reports.
 */
import type { HubMember } from '../../model/snapshot.ts';
import { conditionOf } from '../../model/snapshot.ts';
import type { MeshReading } from '../../model/mesh.ts';
import { timeOf } from '../../model/units.ts';

export type Presence = 'connected' | 'away' | 'stale' | 'leaving' | 'not joined';

export interface MeshMember {
  readonly name: string;
  /** Name of its HubMember. */
  readonly handle: string;
  readonly presence: Presence;
  /** Since when it is away, or connected; undefined if that is not known. */
  readonly sinceMs: number | undefined;
  readonly joinedMs: number | undefined;
  /** Release of its agent; undefined if it does not report. */
  readonly version: string | undefined;
  readonly prefixes: number | undefined;
  readonly exports: number | undefined;
  /** Parts of its state that the hub refuses. */
  readonly rejections: number | undefined;
  /** Why the limits of its HubMember are not in force, or why the object admits nobody. */
  readonly problem: string | undefined;
}

/** not reported: its agent is of an earlier release; not listed: it reports more clusters than fit. */
export type SideState = 'up' | 'degraded' | 'down' | 'unknown' | 'no path' | 'not reported' | 'not listed';

/** What one member reports about its paths to the other. */
export interface MeshSide {
  readonly from: string;
  readonly to: string;
  readonly state: SideState;
  readonly up: number | undefined;
  readonly paths: number | undefined;
  readonly reason: string | undefined;
  /** Of its tunnels: `off`, `encrypted`, or a code that says why they are not; undefined if it does not say. */
  readonly encryption: string | undefined;
  readonly sinceMs: number | undefined;
  /** The member is not connected: the report is its last one. */
  readonly isOld: boolean;
}

export interface MeshPair {
  readonly clusters: readonly [string, string];
  /** The worse of what both report. */
  readonly state: SideState;
  readonly sides: readonly MeshSide[];
}

export interface Mesh {
  readonly hub: string;
  /** No pod of the hub is ready: what is shown is what it wrote last. */
  readonly hubProblem?: string | undefined;
  /** The hub runs, all members are connected, nothing of them is refused, and no path is reported that is not up. */
  readonly isWell: boolean;
  readonly members: readonly MeshMember[];
  /** Worst first. */
  readonly pairs: readonly MeshPair[];
}

/** Worst first. A side that says nothing does not hide what the other says. */
const order: readonly SideState[] = ['down', 'degraded', 'unknown', 'up', 'no path', 'not listed', 'not reported'];
const ill: ReadonlySet<SideState> = new Set(['down', 'degraded', 'unknown']);

export function meshOf({ label, members, hubProblem }: MeshReading): Mesh {
  const shown = members.map(memberOf);
  const pairs = pairsOf(members);
  return {
    hub: label,
    hubProblem,
    isWell:
      hubProblem === undefined &&
      shown.every(
        ({ presence, rejections, problem }) =>
          presence === 'connected' && (rejections ?? 0) === 0 && problem === undefined,
      ) &&
      pairs.every(({ state }) => !ill.has(state)),
    members: shown,
    pairs,
  };
}

type Member = MeshReading['members'][number];

export function memberOf(member: Member): MeshMember {
  const { name, handle, status } = member;
  const accepted = conditionOf(status.conditions, 'SpecAccepted');
  return {
    name,
    handle,
    presence: presenceOf(member),
    sinceMs: timeOf(status.lastSeen ?? conditionOf(status.conditions, 'Connected')?.lastTransitionTime),
    joinedMs: timeOf(status.joined),
    version: status.report?.version,
    prefixes: status.prefixes,
    exports: status.exports,
    rejections: status.rejections,
    problem: accepted?.status === 'False' ? (accepted.message ?? accepted.reason) : undefined,
  };
}

export function presenceOf({ status, isDeleting }: Pick<Member, 'status' | 'isDeleting'>): Presence {
  if (status.fingerprint === undefined) return 'not joined';
  if (status.leaving === true || isDeleting) return 'leaving';
  const connected = conditionOf(status.conditions, 'Connected');
  if (connected?.status === 'True') return 'connected';
  return connected?.reason === 'Stale' ? 'stale' : 'away';
}

/** Pairs of members, and pairs with zones of plain ovn-ic that members report. */
function pairsOf(members: readonly Member[]): readonly MeshPair[] {
  const joined = members.filter(({ status }) => status.fingerprint !== undefined);
  const names = new Set(joined.map(({ name }) => name));
  const pairs = joined.flatMap((member, at) => [
    ...joined
      .slice(at + 1)
      .map((other) => pairOf(sideOf(member, other.name, joined), sideOf(other, member.name, joined))),
    ...(member.status.report?.paths ?? []).flatMap(({ cluster }) =>
      names.has(cluster) ? [] : [pairOf(sideOf(member, cluster, joined))],
    ),
  ]);
  return pairs.toSorted((a, b) => Number(ill.has(b.state)) - Number(ill.has(a.state)) || rank(a.state) - rank(b.state));
}

function rank(state: SideState): number {
  return order.indexOf(state);
}

function pairOf(first: MeshSide, second?: MeshSide): MeshPair {
  const sides = second === undefined ? [first] : [first, second];
  // The last word of a member that is away says less than the present one of the other.
  const current = sides.filter(({ isOld, state }) => !isOld && state !== 'not reported');
  const counted = current.length > 0 ? current : sides;
  const [worst] = counted.map(({ state }) => state).toSorted((a, b) => rank(a) - rank(b));
  return { clusters: [first.from, first.to], state: worst ?? 'not reported', sides };
}

function sideOf(member: HubMember & Pick<Member, 'isDeleting'>, to: string, joined: readonly Member[]): MeshSide {
  const { name: from, status } = member;
  const side = {
    from,
    to,
    up: undefined,
    paths: undefined,
    reason: undefined,
    encryption: undefined,
    sinceMs: undefined,
    isOld: presenceOf(member) !== 'connected',
  };
  const { report } = status;
  if (report === undefined) return { ...side, state: 'not reported' };
  const listed = report.paths ?? [];
  const found = listed.find(({ cluster }) => cluster === to);
  if (found === undefined) return { ...side, state: unlistedState(report, listed, joined.length - 1) };
  const { up, paths, reason, since, state, encryption } = found;
  return { ...side, state: stateOf(up, paths, state), up, paths, reason, encryption, sinceMs: timeOf(since) };
}

type Report = NonNullable<HubMember['status']['report']>;

/** Of a cluster that a member does not list: it lists those with a path that is not up first. */
function unlistedState(
  { clusters, clustersUp }: Report,
  listed: NonNullable<Report['paths']>,
  others: number,
): SideState {
  if (clusters <= listed.length) return 'no path';
  const areIllListed = listed.filter(({ up, paths }) => up < paths).length >= clusters - clustersUp;
  return areIllListed && clusters >= others ? 'up' : 'not listed';
}

function stateOf(up: number, paths: number, worst: string): SideState {
  if (up === paths) return 'up';
  if (up > 0) return 'degraded';
  return worst === 'Down' ? 'down' : 'unknown';
}
