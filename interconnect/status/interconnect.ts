/** The status of the Interconnect. Pure. */
import type { InterconnectStatus } from '../../lib/api/kinds/interconnect.ts';
import type { Problem } from '../../lib/desired/problem.ts';
import { bad, good, summary, unknown, withVerdicts, type Verdict } from './conditions.ts';
import { isoOf, usableGateways, type Situation } from './situation.ts';

export function renderInterconnect(
  situation: Situation,
  before: InterconnectStatus,
  generation: number,
): InterconnectStatus {
  const { link, remotes, members, local } = situation;
  const problem = link.problem ?? situation.problems[0] ?? { code: 'Waiting', message: 'not tried yet' };
  const joined = joinedVerdict(link, problem);
  const reachable = link.isConnected
    ? good('HubReachable', 'Connected', 'a session with the hub is open')
    : bad('HubReachable', link.problem ?? problem);
  const gateways = gatewaysVerdict(situation);
  const converged = convergedVerdict(situation);
  // One gateway less is what there are several for.
  const isServed = gateways.status === 'True' || lesser.has(gateways.reason ?? '');
  const wrong = [joined, converged, ...(isServed ? [] : [gateways])].find(({ status }) => status !== 'True');
  const ready =
    wrong === undefined
      ? good('Ready', 'Ready', `remote clusters: ${remotes.size}`)
      : bad('Ready', { code: wrong.reason ?? 'NotReady', message: wrong.message ?? '' });
  const verdicts = [
    ready,
    joined,
    reachable,
    gateways,
    converged,
    conflictsVerdict(situation),
    certificateVerdict(situation),
    protectedVerdict(situation),
  ];
  const { active, rejected } = remotes.totals;
  const refused = situation.rejections.filter(({ kind }) => kind === 'prefix').length;
  return {
    conditions: withVerdicts(before.conditions, verdicts, isoOf(situation), generation),
    gateways: local === undefined ? [] : [...usableGateways(local)],
    remoteClusters: members.size,
    routesAdvertised: Math.max(0, situation.prefixesOffered - refused),
    routesLearned: active,
    routesRejected: rejected,
  };
}

/** A member that is to be called otherwise goes on by the name it has; it has not joined by the one that is wanted. */
function joinedVerdict({ isJoined, renaming }: Situation['link'], problem: Problem): Verdict {
  if (!isJoined) return bad('Joined', problem);
  if (renaming !== undefined) return bad('Joined', renaming);
  return good('Joined', 'Joined', 'this cluster is a member');
}

/** Reasons of GatewaysReady with which traffic goes on. */
const lesser: ReadonlySet<string> = new Set(['ChassisMissing', 'Lost', 'AllDrained', 'WaitingForHub']);

/** A gateway that OVN did not make one, a path without a holder, an anchor that cannot move. */
function gatewaysVerdict({ local, networks, blocked, isDead }: Situation): Verdict {
  const type = 'GatewaysReady';
  if (local === undefined || local.gatewayNodes.length + local.unknownNodes.length === 0) {
    const message = 'no node is selected by gatewayNodeSelector; label one with ovn.kubernetes.io/ic-gw=true';
    return bad(type, { code: 'NoGateway', message });
  }
  const usable = usableGateways(local);
  const isUsable = new Set(usable.map(({ node }) => node));
  const missing = [...local.unknownNodes, ...local.gatewayNodes.map(({ node }) => node)].filter(
    (node) => !isUsable.has(node),
  );
  if (missing.length > 0) {
    const message = `no chassis with ovn-is-interconn and a geneve address for ${missing.sort().join(', ')}; look at the daemon and ovn-controller there`;
    return bad(type, { code: usable.length === 0 ? 'NoChassis' : 'ChassisMissing', message });
  }
  const lost = local.gatewayNodes.filter(({ chassis }) => isDead(chassis)).map(({ node }) => node);
  if (lost.length > 0) {
    const message = `${lost.join(', ')} lost a port to another gateway and has not come back; look at Open vSwitch and ovn-controller there`;
    return bad(type, { code: 'Lost', message });
  }
  if (local.gatewayNodes.every(({ isDrained }) => isDrained))
    return bad(type, {
      code: 'AllDrained',
      message: 'every gateway is drained: the paths stay where they are; undrain one',
    });
  const paths = [...networks.values()].flatMap((network) => network.paths);
  const idle = paths.filter(({ order, holder }) => order.length > 0 && holder === '').map((path) => path.switch);
  if (idle.length > 0)
    return bad(type, { code: 'NotClaimed', message: `no gateway has taken the port on ${idle.join(', ')} yet` });
  const [stuck] = blocked;
  if (stuck !== undefined) return bad(type, { code: 'WaitingForHub', message: `path ${stuck[0]}: ${stuck[1]}` });
  return good(type, 'Claimed', `gateways: ${usable.length}`);
}

function convergedVerdict({ problems, isConverged, link, networks, networkProblems }: Situation): Verdict {
  const type = 'RoutesConverged';
  const problem = problems[0] ?? networkProblems.values().next().value;
  if (problem !== undefined) return bad(type, problem);
  if (networks.size === 0) {
    const message = 'the hub has not given this cluster a port on a transit switch yet';
    return bad(type, link.problem ?? { code: 'WaitingForHub', message });
  }
  if (!isConverged)
    return bad(type, { code: 'InProgress', message: 'changes are on their way to the hub or the databases' });
  return good(type, 'Converged', 'the hub and the databases have the newest state');
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

function certificateVerdict({ link: { notAfterMs }, nowMs }: Situation): Verdict {
  const type = 'CertificateValid';
  if (notAfterMs === undefined) return unknown(type, 'NotJoined', 'this cluster has no certificate yet');
  const until = new Date(notAfterMs).toISOString();
  if (notAfterMs > nowMs) return good(type, 'Valid', `valid until ${until}, renewed at two thirds of its life`);
  const message = `the certificate ran out at ${until}, because the hub could not renew it; join again with a new token`;
  return bad(type, { code: 'CertificateExpired', message });
}

const named = 5;

function protectedVerdict({ remotes }: Situation): Verdict {
  const type = 'DataplaneProtected';
  const names = [...remotes.unprotected].sort();
  if (names.length === 0)
    return good(type, 'Protected', 'every cluster is reached over two paths on different gateways, watched by BFD');
  const rest = names.length > named ? ` and ${names.length - named} more` : '';
  const message = `fewer than two paths on different gateways are up to ${names.slice(0, named).join(', ')}${rest}: the loss of one gateway would cut them off`;
  return bad(type, { code: 'OnePathLeft', message });
}
