/** The status of the Interconnect. Pure. */
import type { InterconnectStatus } from '../../lib/api/kinds/interconnect.ts';
import { hubSwitch } from '../../lib/api/names.ts';
import type { Problem } from '../../lib/desired/problem.ts';
import type { SilentDatabase } from '../model/messages.ts';
import type { GatewayNode } from '../model/local.ts';
import { countRefused } from '../model/refused.ts';
import { bad, good, summary, unknown, verdictOf, withVerdicts, type Verdict } from './conditions.ts';
import { allEncryptedVerdict } from './encrypted.ts';
import { faultOf, daemonSilent, isReached, stalledCodes, type GatewayFault } from './gateway-health.ts';
import { certainCuts, isoOf, usableGateways, type Situation } from './situation.ts';
import { isSilence } from './stuck.ts';

export function renderInterconnect(
  situation: Situation,
  before: InterconnectStatus,
  generation: number,
): InterconnectStatus {
  const { link, local } = situation;
  // A process without an update from the hub since its start keeps the status that is written.
  const isKept = link.isJoined && !situation.isHubKnown;
  const keptOf = (type: string): Verdict | undefined => {
    const kept = isKept ? before.conditions?.find((condition) => condition.type === type) : undefined;
    return kept === undefined ? undefined : verdictOf(kept);
  };
  const problem = link.problem ?? situation.problems[0] ?? { code: 'Waiting', message: 'not tried yet' };
  const joined = joinedVerdict(link, problem);
  const reachable = link.isConnected
    ? good('HubReachable', 'Connected', 'a session with the hub is open')
    : bad('HubReachable', link.problem ?? problem);
  const gateways = gatewaysVerdict(situation);
  const converged = convergedVerdict(situation);
  const verdicts = [
    keptReady(keptOf('Ready'), [joined, gateways], situation) ?? readyVerdict([joined, converged, gateways], situation),
    joined,
    reachable,
    hubDatabasesVerdict(situation),
    gateways,
    converged,
    keptOf('NoConflicts') ?? conflictsVerdict(situation),
    certificateVerdict(situation),
    keptOf('DataplaneProtected') ?? protectedVerdict(situation),
    ...clusterSetVerdict(situation, before),
    ...(situation.encryption === undefined ? [] : [keptOf('Encrypted') ?? allEncryptedVerdict(situation)]),
  ];
  return {
    conditions: withVerdicts(before.conditions, verdicts, isoOf(situation), generation),
    gateways: local === undefined ? [] : [...usableGateways(local)],
    ...(isKept ? figuresBefore(before) : figuresOf(situation)),
  };
}

/** A cluster that was ready stays ready where nothing that can be known without the hub is wrong. */
function keptReady(kept: Verdict | undefined, known: readonly Verdict[], situation: Situation): Verdict | undefined {
  const now = readyVerdict(known, situation);
  if (kept === undefined || now.status !== 'True') return undefined;
  if (kept.status === 'True') return kept;
  // Written by an agent that could not begin: out of date, since this one has.
  return isSilence(kept.reason ?? '') ? now : undefined;
}

/** The first of several conditions that stops traffic. */
function readyVerdict(needed: readonly Verdict[], situation: Situation): Verdict {
  const wrong = needed.find((verdict) => verdict.status !== 'True' && !isTolerated(verdict, situation));
  if (wrong !== undefined) {
    const { status, reason = 'NotReady', message = '' } = wrong;
    return status === 'Unknown' ? unknown('Ready', reason, message) : bad('Ready', { code: reason, message });
  }
  return good('Ready', 'Ready', `remote clusters: ${situation.remotes.size}`);
}

type Figures = Omit<InterconnectStatus, 'conditions' | 'gateways'>;

function figuresOf({ remotes, members, rejections, prefixesOffered }: Situation): Figures {
  const { active, rejected } = remotes.totals;
  const refused = countRefused(rejections.filter(({ kind }) => kind === 'prefix'));
  return {
    remoteClusters: members.size,
    routesAdvertised: Math.max(0, prefixesOffered - refused),
    routesLearned: active,
    routesRejected: rejected,
  };
}

/** A member that is to be renamed goes on under its present name; under the wanted one it has not joined. */
function joinedVerdict({ isJoined, renaming }: Situation['link'], problem: Problem): Verdict {
  if (!isJoined) return bad('Joined', problem);
  if (renaming !== undefined) return bad('Joined', renaming);
  return good('Joined', 'Joined', 'this cluster is a member');
}

function figuresBefore(before: InterconnectStatus): Figures {
  const { conditions: _, gateways: __, ...figures } = before;
  return figures;
}

/** By condition: reasons that leave traffic running. There are several gateways so that one may fail. */
const tolerated: Readonly<Record<string, readonly string[]>> = {
  GatewaysReady: ['ChassisMissing', 'GatewaysCutOff', 'Lost', 'AllDrained', 'WaitingForHub'],
  RoutesConverged: stalledCodes,
};

function isTolerated({ type, reason = '' }: Verdict, situation: Situation): boolean {
  const { local, clashes, networks } = situation;
  if (tolerated[type]?.includes(reason) === true) return true;
  if (type === 'RoutesConverged') return reason === requestProblem(situation)?.code && networks.has(hubSwitch);
  if (type !== 'GatewaysReady') return false;
  // No daemon here reports, but other clusters do: they reach this one.
  if (reason === daemonSilent && isReached(situation) === true) return true;
  const isClashing = new Set(clashes.map(({ node }) => node));
  const others = local === undefined ? [] : usableGateways(local).filter(({ node }) => !isClashing.has(node));
  if (faults(situation).some(({ code }) => code === reason))
    return others.some(({ chassis }) => faultOf(chassis, situation) === undefined);
  return clashes.some(({ problem }) => problem.code === reason) && others.length > 0;
}

/** Only the hub knows the state of its databases. */
function hubDatabasesVerdict({ link, silentDatabases }: Situation): Verdict {
  const type = 'HubDatabasesReady';
  if (!link.isConnected)
    return unknown(type, 'HubUnreachable', 'the state is not known, because the hub cannot be reached');
  const [first] = silentDatabases;
  if (first === undefined) return good(type, 'Answering', 'the databases of the hub answer it');
  return bad(type, { code: hubDatabasesStuck, message: `${silentText(silentDatabases)}: ${hubDatabasesAdvice}` });
}

/** Also of RoutesConverged, where something waits for them. */
const hubDatabasesStuck = 'HubDatabasesStuck';
const hubDatabasesAdvice =
  'they are frozen, dead or without a majority. Traffic and routes stay as they are; changes of any cluster reach the others only once the databases answer. In the cluster of the hub, check their ovsdb-servers';

function silentText(silent: readonly SilentDatabase[]): string {
  const each = silent.map(({ name, sinceMs }) => `${name} since ${new Date(sinceMs).toISOString()}`);
  return `databases do not answer the hub: ${each.join(', ')}`;
}

/** A gateway that OVN did not make one, a path without a holder, an anchor that cannot move. */
function gatewaysVerdict(situation: Situation): Verdict {
  const { local, networks, blocked, clashes } = situation;
  const type = 'GatewaysReady';
  if (local === undefined || local.gatewayNodes.length + local.unknownNodes.length === 0) {
    const message = 'no node is selected by gatewayNodeSelector; label one with ovn.kubernetes.io/ic-gw=true';
    return bad(type, { code: 'NoGateway', message });
  }
  const [clash] = clashes;
  if (clash !== undefined)
    return bad(type, { code: clash.problem.code, message: summary(clashes.map(({ problem }) => problem)) });
  const usable = usableGateways(local);
  const isUsable = new Set(usable.map(({ node }) => node));
  const isIll = new Set(faults(situation).map(({ node }) => node));
  const missing = [...local.unknownNodes, ...local.gatewayNodes.map(({ node }) => node)].filter(
    (node) => !isUsable.has(node) && !isIll.has(node),
  );
  if (missing.length > 0) {
    const message = `no chassis with ovn-is-interconn and a geneve address for ${missing.sort().join(', ')}; check the daemon and ovn-controller there, and that the chart value networking.encapType is geneve`;
    return bad(type, { code: usable.length === 0 ? 'NoChassis' : 'ChassisMissing', message });
  }
  const cut = cutOffProblem(situation);
  if (cut !== undefined) return bad(type, cut);
  const ill = faults(situation);
  const known = ill.filter(({ isKnown }) => isKnown);
  if (known[0] !== undefined) return bad(type, { code: known[0].code, message: summary(known) });
  if (local.gatewayNodes.every(({ isDrained }) => isDrained))
    return bad(type, {
      code: 'AllDrained',
      message: 'every gateway is drained: the paths stay where they are; undrain one',
    });
  // Networks of other VPCs, which come and go, have a TransitSwitch with a status of its own.
  const paths = networks.get(hubSwitch)?.paths ?? [];
  const idle = paths.filter(({ order, holder }) => order.length > 0 && holder === '').map((path) => path.switch);
  if (idle.length > 0)
    return bad(type, { code: 'NotClaimed', message: `no gateway has taken the port on ${idle.join(', ')} yet` });
  const [stuck] = blocked;
  if (stuck !== undefined) return bad(type, { code: 'WaitingForHub', message: `path ${stuck[0]}: ${stuck[1]}` });
  if (ill[0] !== undefined) return unknown(type, ill[0].code, summary(ill));
  return good(type, 'Claimed', `gateways: ${usable.length}`);
}

/** Faults of all gateways, or of those meant. */
function faults(
  situation: Situation,
  isMeant: (gateway: GatewayNode) => boolean = () => true,
): readonly GatewayFault[] {
  const gateways = situation.local?.gatewayNodes.filter(isMeant) ?? [];
  return gateways.flatMap(({ chassis }) => faultOf(chassis, situation) ?? []);
}

/**
 * Gateways that are running but do not receive packets from each other: no order may have both, and a packet from one to the other is lost.
 */
function cutOffProblem(situation: Situation): Problem | undefined {
  const cuts = certainCuts(situation);
  if (cuts.length === 0) return undefined;
  const nameOf = (chassis: string): string => {
    const { gatewayNodes = [], chassis: all } = situation.local ?? {};
    const node = gatewayNodes.find((gateway) => gateway.chassis === chassis)?.node ?? chassis;
    return `${node} (${all?.get(chassis)?.gateway.encaps[0]?.ip ?? 'no tunnel address'})`;
  };
  const problems = cuts.map(({ pair: [a, b] }) => ({
    code: 'GatewaysCutOff',
    message: `${nameOf(a)} and ${nameOf(b)} are running but do not receive packets from each other: let udp 6081 pass both ways between them; until then neither replaces the other, and pods on one cannot reach pods on the other`,
  }));
  return { code: 'GatewaysCutOff', message: summary(problems) };
}

function convergedVerdict(situation: Situation): Verdict {
  const { problems, isConverged, link, networks, networkProblems, stuck } = situation;
  const type = 'RoutesConverged';
  const [first] = stuck;
  if (first !== undefined) return bad(type, { code: first.code, message: summary(stuck) });
  const problem = problems[0] ?? networkProblems.values().next().value ?? requestProblem(situation);
  if (problem !== undefined) return bad(type, problem);
  // A lost gateway forwards for nothing, and so has nothing to apply.
  const ill = faults(situation, ({ chassis }) => !situation.isDead(chassis));
  const standing = ill.find(({ code }) => stalledCodes.includes(code));
  if (standing !== undefined) return bad(type, { code: standing.code, message: standing.message });
  if (networks.size === 0) {
    const message = 'the hub has not given this cluster a port on a transit switch yet';
    return bad(type, link.problem ?? hubDelay(situation) ?? { code: 'WaitingForHub', message });
  }
  if (!isConverged) return bad(type, delayOf(situation));
  return good(type, 'Converged', 'the hub and the databases have the newest state');
}

/** The network of the hub joins the VPC of the Interconnect; other networks report in objects of their own. */
function requestProblem({ local }: Situation): Problem | undefined {
  const request = local?.transitRequests.find(({ name }) => name === hubSwitch);
  return request?.problem ?? request?.vpcProblem;
}

function delayOf(situation: Situation): Problem {
  const message = `changes are on their way to the ${situation.isWaitingForHub ? 'hub' : 'databases of this cluster'}`;
  return (situation.isWaitingForHub ? hubDelay(situation) : undefined) ?? { code: 'InProgress', message };
}

/** Why changes wait for the hub; undefined if no cause is known. */
function hubDelay({ link, silentDatabases }: Situation): Problem | undefined {
  if (!link.isConnected && link.problem !== undefined)
    return { code: 'WaitingForHub', message: `changes wait for the hub: ${link.problem.message}` };
  if (silentDatabases.length === 0) return undefined;
  const message = `changes wait for the hub, because ${silentText(silentDatabases)}: ${hubDatabasesAdvice}`;
  return { code: hubDatabasesStuck, message };
}

function conflictsVerdict({ remotes, rejections, networkProblems }: Situation): Verdict {
  const conflicts: readonly Problem[] = [
    ...rejections,
    ...networkProblems.values(),
    ...[...remotes.conflicts.values()].flat(),
  ];
  const [first] = conflicts;
  if (first === undefined) return good('NoConflicts', 'NoneFound', 'every name, address and prefix has one owner');
  return bad('NoConflicts', { code: first.code, message: summary(conflicts) });
}

function certificateVerdict({ link: { notAfterMs, renewal }, nowMs }: Situation): Verdict {
  const type = 'CertificateValid';
  if (notAfterMs === undefined) return unknown(type, 'NotJoined', 'this cluster has no certificate yet');
  const until = new Date(notAfterMs).toISOString();
  if (notAfterMs > nowMs && renewal !== undefined) {
    const message = `valid until ${until}, and not renewed yet: ${renewal.message}`;
    return bad(type, { code: 'RenewalFailed', message });
  }
  if (notAfterMs > nowMs) return good(type, 'Valid', `valid until ${until}, renewed at two thirds of its life`);
  const message = `the certificate expired at ${until}, because the hub could not renew it; join again with a new token`;
  return bad(type, { code: 'CertificateExpired', message });
}

/** About addresses for imported Services. An agent that does not know the exports yet keeps what is written. */
function clusterSetVerdict(
  { clusterSetProblems }: Situation,
  { conditions = [] }: InterconnectStatus,
): readonly Verdict[] {
  const type = 'ClusterSetIPsAvailable';
  if (clusterSetProblems === undefined) return conditions.filter((one) => one.type === type).map(verdictOf);
  const [first] = clusterSetProblems;
  if (first === undefined) return [good(type, 'Available', 'imported Services get addresses that nothing else has')];
  return [bad(type, { code: first.code, message: summary(clusterSetProblems) })];
}

const named = 5;

function protectedVerdict({ remotes, takeovers }: Situation): Verdict {
  const type = 'DataplaneProtected';
  const names = [...remotes.unprotected].sort();
  const [takeover] = takeovers.values();
  if (names.length === 0 && takeover !== undefined)
    return bad(type, { code: takeover.code, message: summary([...takeovers.values()]) });
  if (names.length === 0)
    return good(type, 'Protected', 'every cluster is reached over two paths on different gateways, watched by BFD');
  const rest = names.length > named ? ` and ${names.length - named} more` : '';
  const message = `fewer than two paths on different gateways are up to ${names.slice(0, named).join(', ')}${rest}: the failure of one gateway would cut them off`;
  return bad(type, { code: 'OnePathLeft', message });
}
