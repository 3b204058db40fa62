/** The status of a RemoteCluster. Pure. */
import type { RemoteClusterStatus, RemotePathStatus } from '../../lib/api/kinds/remote-cluster.ts';
import type { RemoteRoute } from '../../lib/api/kinds/remote-route-slice.ts';
import type { Problem } from '../../lib/desired/problem.ts';
import type { Member } from '../model/messages.ts';
import { isUnreachable, known, type PathVerdict } from '../settle/paths.ts';
import { handleOf } from '../model/port-names.ts';
import type { RouteUse } from '../settle/route-use.ts';
import { isSameTime } from '../settle/services/distances.ts';
import type { RemoteState } from '../settle/remotes.ts';
import { bad, good, summary, unknown, withVerdicts, type Verdict } from './conditions.ts';
import { encryptedVerdict, encryptionOf } from './encrypted.ts';
import { faultOf, daemonSilent } from './gateway-health.ts';
import { mtuProblem, probeOf } from './mtu.ts';
import { isActive, listRoutes, type RouteLists } from './prefix-list.ts';
import { podsVerdict } from './pods.ts';
import { isoOf, type Situation } from './situation.ts';

const none: readonly RouteUse[] = [];

export function renderRemoteCluster(
  member: Member,
  state: RemoteState | undefined,
  situation: Situation,
  before: RemoteClusterStatus,
): RemoteClusterStatus {
  const conflicts = situation.remotes.conflicts.get(member.name) ?? [];
  const verdicts = (state?.verdicts ?? []).map((verdict) => asKnown(verdict, member, situation));
  const paths = verdicts.map((verdict) => pathOf(verdict, situation, before));
  const [phase, ready] = phaseOf(member, verdicts, conflicts);
  const uses = state?.uses ?? none;
  const { sample, unlisted, verdict: listed } = routesOf(member.name, uses);
  const conditions = [
    ready,
    pathsVerdict(verdicts),
    conflictsVerdict(conflicts),
    mtuVerdict(verdicts, situation),
    ...encryptedVerdict(member, state, situation),
    listed,
    ...[podsVerdict(member.name, situation.podsOf(member.name)) ?? []].flat(),
  ];
  const handle = handleOf(member);
  // A process that does not know it yet keeps what it will begin with.
  const rttMs = situation.distanceOf(member.name) ?? before.rttMs;
  return {
    phase,
    conditions: withVerdicts(before.conditions, conditions, isoOf(situation)),
    foreign: member.foreign,
    ...(handle === member.name ? {} : { handle }),
    ...(member.lastSeenMs > 0 ? { lastSeen: new Date(member.lastSeenMs).toISOString() } : {}),
    ...encryptionOf(member, situation),
    gateways: member.gateways.map(({ chassis, hostname, encaps, wireGuard }) => ({
      chassis,
      hostname,
      address: encaps[0]?.ip ?? '',
      ...(state?.gateways.encrypted.has(chassis) === true
        ? { encrypted: true, endpoints: [...(wireGuard?.endpoints ?? [])] }
        : {}),
    })),
    paths,
    ...(rttMs === undefined ? {} : { rttMs }),
    pathsUp: `${paths.filter((path) => path.state === 'Up').length}/${paths.length}`,
    routes: [...sample],
    ...(unlisted.length === 0 ? {} : { unlisted: [...unlisted] }),
    routesActive: uses.filter(isActive).length,
    routesBackup: uses.filter((use) => use.rejected === undefined && !isActive(use)).length,
    routesRejected: uses.filter(({ rejected }) => rejected !== undefined).length,
  };
}

const listed = new WeakMap<readonly RouteUse[], RouteLists>();

/** Made once for each value of the routes, which most statuses leave as they were. */
function routesOf(cluster: string, uses: readonly RouteUse[]): RouteLists {
  const known = listed.get(uses) ?? listRoutes(cluster, uses);
  listed.set(uses, known);
  return known;
}

/** The entries of its slices. */
export function remoteRoutesOf(member: Member, state: RemoteState | undefined): readonly RemoteRoute[] {
  return routesOf(member.name, state?.uses ?? none).entries;
}

const notForwarding: readonly string[] = ['VswitchdDown', 'GatewayDown'];
const notMeasuring: readonly string[] = ['OvsdbServerDown', daemonSilent];

/**
 * The last measurement counts as long as the gateway is measured; after that what is known of the gateway does, and
 * reports of the other cluster.
 */
function asKnown(verdict: PathVerdict, { name }: Member, situation: Situation): PathVerdict {
  const fault = verdict.localGateway === '' ? undefined : faultOf(verdict.localGateway, situation);
  if (fault === undefined) return verdict;
  const { code: reason, message } = fault;
  if (notForwarding.includes(reason)) return known(verdict, 'Down', fault);
  if (!notMeasuring.includes(reason)) return verdict;
  if (situation.unreachedBy?.has(name) !== true) return known(verdict, 'Unknown', fault);
  const report = `${name} reports that all of its paths to this cluster are down; ${message}`;
  return known(verdict, 'Down', { code: 'NotReached', message: report });
}

/**
 * The published time counts while measurements say the same, also in a process that has just started: two probes rarely agree on more than
 * two digits, and each other digit would be a write for nothing.
 */
function timeOf(measuredMs: number, publishedMs: number | undefined): number {
  if (publishedMs !== undefined && isSameTime(measuredMs, publishedMs)) return publishedMs;
  return Number(measuredMs.toPrecision(2));
}

function pathOf(verdict: PathVerdict, situation: Situation, before: RemoteClusterStatus): RemotePathStatus {
  const { network, index, localGateway, remoteGateway, state, reason, message, bfd } = verdict;
  const gateway = situation.gatewayOf(localGateway);
  const isMeasured = faultOf(localGateway, situation) === undefined;
  const probe = isMeasured ? probeOf(gateway, remoteGateway) : undefined;
  const tunnel = gateway?.tunnels.find(({ chassis }) => chassis === remoteGateway);
  const known = before.paths?.find((path) => path.transitSwitch === network && path.path === index);
  const since = known?.state === state ? known.since : undefined;
  const isSameWay = known?.localGateway === localGateway && known.remoteGateway === remoteGateway;
  const publishedMs = isSameWay ? known.rttMs : undefined;
  return {
    transitSwitch: network,
    path: index,
    localGateway,
    remoteGateway,
    state,
    ...(reason === '' ? {} : { reason, message }),
    bfd,
    ...(probe?.rttMs === undefined ? {} : { rttMs: timeOf(probe.rttMs.avg, publishedMs) }),
    ...(probe === undefined ? {} : { lossPercent: probe.lossPercent }),
    ...(probe?.mtu === undefined ? {} : { mtu: probe.mtu }),
    ...(tunnel?.flaps === undefined ? {} : { flaps: tunnel.flaps }),
    since: since ?? isoOf(situation),
  };
}

type Phase = NonNullable<RemoteClusterStatus['phase']>;

function phaseOf(member: Member, verdicts: readonly PathVerdict[], conflicts: readonly Problem[]): [Phase, Verdict] {
  const { name } = member;
  const fail = (phase: Phase, code: string, message: string): [Phase, Verdict] => [
    phase,
    bad('Ready', { code, message }),
  ];
  if (member.connected && member.gateways.length === 0)
    return fail(
      'Joining',
      'NoGateway',
      `${name} has no gateway: it cannot be reached until one of its nodes is a gateway`,
    );
  if (isUnreachable(verdicts)) {
    const refused = verdicts.find(({ reason }) => reason !== 'TunnelDown');
    if (refused !== undefined) return fail('Unreachable', refused.reason, refused.message);
    const seen = member.connected ? 'the hub still has a session with it' : 'and the hub has no session with it';
    return fail('Unreachable', 'AllPathsDown', `the tunnels to all gateways of ${name} are down; ${seen}`);
  }
  const [conflict] = conflicts;
  if (conflict !== undefined) return fail('Conflicted', conflict.code, summary(conflicts));
  if (!member.foreign && !member.connected)
    return fail('Stale', 'NoSession', `${name} has no session with the hub; its last known routes remain`);
  if (verdicts.length === 0) return fail('Joining', 'NoPath', `${name} and this cluster share no path yet`);
  if (member.ports.every(({ holder }) => holder === ''))
    return fail('Joining', 'NoActiveGateway', `no gateway of ${name} has taken a port yet`);
  const rest = worstOf(verdicts);
  if (rest?.state === 'Unknown') return ['Degraded', unknown('Ready', rest.reason, rest.message)];
  if (rest !== undefined && !member.foreign) return fail('Degraded', rest.reason, rest.message);
  return ['Ready', good('Ready', 'Ready', member.foreign ? 'runs its own ovn-ic' : 'in contact with the hub')];
}

/** The worst path: known faults before unknown states. */
function worstOf(verdicts: readonly PathVerdict[]): PathVerdict | undefined {
  const wrong = verdicts.filter(({ state }) => state !== 'Up');
  return wrong.find(({ state }) => state !== 'Unknown') ?? wrong[0];
}

function pathsVerdict(verdicts: readonly PathVerdict[]): Verdict {
  const wrong = worstOf(verdicts);
  if (wrong?.state === 'Unknown') return unknown('PathsUp', wrong.reason, wrong.message);
  if (wrong !== undefined) return bad('PathsUp', { code: wrong.reason, message: wrong.message });
  if (verdicts.length === 0) return unknown('PathsUp', 'NoPath', 'there is no shared path yet');
  return good('PathsUp', 'Up', `paths: ${verdicts.length}`);
}

function conflictsVerdict(conflicts: readonly Problem[]): Verdict {
  const [first] = conflicts;
  if (first === undefined) return good('NoConflicts', 'NoneFound', 'everything that it offers can be used');
  return bad('NoConflicts', { code: first.code, message: summary(conflicts) });
}

function mtuVerdict(verdicts: readonly PathVerdict[], { gatewayOf, wantedMtu }: Situation): Verdict {
  const problems: Problem[] = [];
  let measured = 0;
  for (const { localGateway: from, remoteGateway: to, state } of verdicts) {
    if (state === 'Unknown') continue;
    const probe = probeOf(gatewayOf(from), to);
    if (probe?.mtu !== undefined) measured += 1;
    const problem = mtuProblem(probe, wantedMtu, { from, to });
    if (problem !== undefined) problems.push(problem);
  }
  const [first] = problems;
  if (first !== undefined) return bad('PathMTU', { code: first.code, message: summary(problems) });
  if (measured === 0) return unknown('PathMTU', 'NotMeasured', 'no probe between the gateways has been answered yet');
  return good('PathMTU', 'Enough', `packets of ${wantedMtu} bytes pass`);
}
