/** What Kubernetes is told: statuses of Interconnect, RemoteCluster and TransitSwitch. Pure. */
import type { InterconnectStatus } from '../../lib/api/kinds/interconnect.ts';
import type { RemoteClusterStatus } from '../../lib/api/kinds/remote-cluster.ts';
import type { TransitSwitchStatus } from '../../lib/api/kinds/transit-switch.ts';
import type { Problem } from '../../lib/desired/problem.ts';
import type { LinkState } from '../apply/membership.ts';
import type { NetworkState } from '../apply/network.ts';
import type { Member, Rejection, TransitSwitch } from '../link/messages.ts';
import { memberState } from '../plan/gateways.ts';
import type { RemotePlan } from '../plan/remote.ts';
import type { LocalView } from '../state/local.ts';
import { bad, good, summary, withVerdicts, type Verdict } from './conditions.ts';

/** All that a status can depend on. */
export interface Situation {
  readonly local: LocalView | undefined;
  readonly link: LinkState;
  readonly network: NetworkState;
  readonly members: ReadonlyMap<string, Member>;
  readonly switches: readonly TransitSwitch[];
  readonly rejections: readonly Rejection[];
  /** Whether the hub has all that it was told, and the databases what the plans returned. */
  readonly isConverged: boolean;
  /** Of the targets, and of the object's spec. */
  readonly problems: readonly Problem[];
  readonly nowIso: string;
}

/** A gateway that OVN did not make one. */
function gatewaysVerdict({ local, network }: Situation): Verdict {
  const type = 'GatewaysReady';
  if (local === undefined || local.gatewayNodes.length === 0) {
    const message = 'no node is selected by gatewayNodeSelector; label one with ovn.kubernetes.io/ic-gw=true';
    return bad(type, { code: 'NoGateway', message });
  }
  const usable = memberState(local, '').gateways;
  const missing = local.gatewayNodes.filter(({ chassis }) => !usable.some((gateway) => gateway.chassis === chassis));
  const idle = [...network.ports].filter(([, { active }]) => active === '').map(([name]) => name);
  if (missing.length > 0) {
    const nodes = missing.map(({ node }) => node).join(', ');
    const message = `no chassis with ovn-is-interconn and a geneve address for ${nodes}; look at the daemon and ovn-controller there`;
    return bad(type, { code: usable.length === 0 ? 'NoChassis' : 'ChassisMissing', message });
  }
  if (idle.length > 0)
    return bad(type, { code: 'NotClaimed', message: `no gateway has taken the port on ${idle.join(', ')} yet` });
  return good(type, 'Claimed', `gateways: ${usable.length}`);
}

function conflictsOf({ network, rejections }: Situation): readonly Problem[] {
  const remote = [...network.remotes.values()].flatMap(({ routes, problems }) => [
    ...problems,
    ...routes.flatMap(({ rejected }) => (rejected === undefined || rejected.code === 'NoGateway' ? [] : [rejected])),
  ]);
  return [...rejections, ...network.problems, ...remote];
}

export function renderInterconnect(
  situation: Situation,
  before: InterconnectStatus,
  generation: number,
): InterconnectStatus {
  const { link, network, local, members, nowIso } = situation;
  const waiting: Problem = { code: 'Waiting', message: 'not tried yet' };
  const problem = situation.problems[0] ?? link.problem ?? waiting;
  const joined = link.isJoined ? good('Joined', 'Joined', 'this cluster is a member') : bad('Joined', problem);
  const reachable = link.isConnected
    ? good('HubReachable', 'Connected', 'a session with the hub is open')
    : bad('HubReachable', problem);
  const gateways = gatewaysVerdict(situation);
  const converged = convergedVerdict(situation);
  const conflicts = conflictsOf(situation);
  const noConflicts =
    conflicts.length === 0
      ? good('NoConflicts', 'NoneFound', 'every name, address and prefix has one owner')
      : bad('NoConflicts', { code: conflicts[0]?.code ?? 'Conflict', message: summary(conflicts) });
  const wrong = [joined, converged, gateways].find(({ status }) => status !== 'True');
  const ready =
    wrong === undefined
      ? good('Ready', 'Ready', `remote clusters: ${network.remotes.size}`)
      : bad('Ready', { code: wrong.reason ?? 'NotReady', message: wrong.message ?? '' });
  const routes = [...network.remotes.values()].flatMap((plan) => plan.routes);
  const rejected = routes.filter((route) => route.rejected !== undefined).length;
  return {
    conditions: withVerdicts(
      before.conditions,
      [ready, joined, reachable, gateways, converged, noConflicts],
      nowIso,
      generation,
    ),
    gateways: gatewayList(local),
    remoteClusters: members.size,
    routesAdvertised:
      (local?.prefixes.length ?? 0) - situation.rejections.filter(({ kind }) => kind === 'prefix').length,
    routesLearned: routes.length - rejected,
    routesRejected: rejected,
  };
}

function convergedVerdict({ problems, isConverged, link, switches }: Situation): Verdict {
  const type = 'RoutesConverged';
  const problem = problems[0];
  if (problem !== undefined) return bad(type, problem);
  if (switches.length === 0)
    return bad(
      type,
      link.problem ?? { code: 'WaitingForHub', message: 'the hub has not given this cluster a transit switch yet' },
    );
  if (!isConverged)
    return bad(type, { code: 'InProgress', message: 'changes are on their way to the hub or the databases' });
  return good(type, 'Converged', 'the hub and the databases have the newest state');
}

function gatewayList(local: LocalView | undefined): NonNullable<InterconnectStatus['gateways']> {
  return (local?.gatewayNodes ?? []).flatMap(({ node, chassis }) => {
    const address = local?.chassis.get(chassis)?.gateway.encaps[0]?.ip;
    return address === undefined ? [] : [{ node, chassis, address }];
  });
}

export function renderRemoteCluster(
  member: Member,
  plan: RemotePlan | undefined,
  before: RemoteClusterStatus,
  nowIso: string,
): RemoteClusterStatus {
  const routes = (plan?.routes ?? []).map(({ prefix, transitSwitch, nextHop, rejected }) => ({
    prefix,
    transitSwitch,
    nextHop,
    state: rejected === undefined ? ('Active' as const) : ('Rejected' as const),
    ...(rejected === undefined ? {} : { reason: rejected.code }),
  }));
  const rejected = routes.filter(({ state }) => state === 'Rejected').length;
  const refusals = (plan?.routes ?? []).flatMap((route) => route.rejected ?? []);
  const conflicts = [...(plan?.problems ?? []), ...refusals];
  const isActive = member.ports.some(({ gateway }) => gateway !== '');
  const [phase, verdict] = phaseOf(member, conflicts, isActive);
  return {
    phase,
    conditions: withVerdicts(before.conditions, [verdict], nowIso),
    ...(member.lastSeenMs > 0 ? { lastSeen: new Date(member.lastSeenMs).toISOString() } : {}),
    gateways: member.gateways.map(({ chassis, hostname, encaps }) => ({
      chassis,
      hostname,
      address: encaps[0]?.ip ?? '',
    })),
    routes,
    routesActive: routes.length - rejected,
    routesRejected: rejected,
  };
}

function phaseOf(
  member: Member,
  conflicts: readonly Problem[],
  isActive: boolean,
): [NonNullable<RemoteClusterStatus['phase']>, Verdict] {
  if (member.connected && member.gateways.length === 0) {
    const message = `${member.name} has no gateway: nothing there can be reached until one of its nodes is`;
    return ['Joining', bad('Ready', { code: 'NoGateway', message })];
  }
  const first = conflicts[0];
  if (first !== undefined) return ['Conflicted', bad('Ready', { code: first.code, message: summary(conflicts) })];
  if (!member.connected) {
    const message = `${member.name} has no session with the hub; its routes are kept as they were`;
    return ['Stale', bad('Ready', { code: 'NoSession', message })];
  }
  if (!isActive)
    return [
      'Joining',
      bad('Ready', { code: 'NoActiveGateway', message: `no gateway of ${member.name} has taken its port yet` }),
    ];
  return ['Ready', good('Ready', 'Ready', member.foreign ? 'runs its own ovn-ic' : 'in contact with the hub')];
}

export function renderTransitSwitch(
  network: TransitSwitch,
  situation: Situation,
  before: TransitSwitchStatus,
): TransitSwitchStatus {
  const { network: state, local, members, nowIso } = situation;
  const active = state.ports.get(network.name)?.active ?? '';
  const clusters = [...members.values()].flatMap(({ name, ports }) =>
    ports
      .filter(({ transitSwitch }) => transitSwitch === network.name)
      .map((port) => ({ name, address: port.networks[0] ?? '' })),
  );
  const verdict =
    active === ''
      ? bad('Ready', { code: 'NotClaimed', message: 'no gateway of this cluster has taken its port' })
      : good('Ready', 'Claimed', `${active} forwards`);
  return {
    conditions: withVerdicts(before.conditions, [verdict], nowIso),
    cidr: network.cidr,
    tunnelKey: network.tunnelKey,
    ...(local === undefined ? {} : { vpc: local.router }),
    localAddress: network.port.networks[0] ?? '',
    activeGateway: active,
    clusters: clusters.sort((a, b) => (a.name < b.name ? -1 : 1)),
  };
}
