/** The agent's part of an InterconnectGateway's status; the daemon of the node writes the rest. Pure. */
import type {
  GatewayPeer,
  GatewaySibling,
  InterconnectGatewayStatus,
} from '../../lib/api/kinds/interconnect-gateway.ts';
import type { Problem } from '../../lib/desired/problem.ts';
import type { GatewayObject } from '../model/objects.ts';
import { bad, good, summary, unknown, withVerdicts, type Verdict } from './conditions.ts';
import { faultOf, daemonSilent } from './gateway-health.ts';
import { mtuProblem } from './mtu.ts';
import { isoOf, usableGateways, type Situation } from './situation.ts';

const writtenByDaemon = ['tunnels', 'probes', 'siblingTunnels', 'silentPrograms', 'wireGuard', 'checkedAt'] as const;
/** Fields that the daemon of the node writes. */
export const daemonFields: ReadonlySet<string> = new Set(writtenByDaemon);
export type OwnGatewayStatus = Omit<InterconnectGatewayStatus, (typeof writtenByDaemon)[number]>;

export function renderGateway(
  node: string,
  object: GatewayObject | undefined,
  situation: Situation,
  peers: readonly GatewayPeer[],
): OwnGatewayStatus {
  const chassis =
    situation.local?.gatewayNodes.find((gateway) => gateway.node === node)?.chassis ?? object?.status.chassis;
  const known = chassis === undefined ? undefined : situation.local?.chassis.get(chassis);
  const address = known?.gateway.encaps[0]?.ip;
  const paths = [...situation.networks.values()].flatMap(({ name, paths: all }) =>
    all.filter(({ holder }) => holder !== '' && holder === chassis).map(({ index }) => `${name}/${index}`),
  );
  const verdicts = [readyOf(node, situation, chassis), mtuVerdict(node, object, situation, peers)];
  return {
    conditions: withVerdicts(object?.status.conditions, verdicts, isoOf(situation)),
    ...(chassis === undefined ? {} : { chassis }),
    ...(address === undefined ? {} : { address }),
    paths,
    wantedMTU: situation.wantedMtu,
    peers: [...peers],
    siblings: siblingsOf(chassis, situation),
  };
}

/** The other gateways. Those that are cut off stay listed after they died: only their daemons see them return. */
function siblingsOf(own: string | undefined, { local, cuts }: Situation): GatewaySibling[] {
  if (local === undefined) return [];
  const isCutOff = (chassis: string): boolean =>
    cuts.some(({ pair, sinceMs }) => sinceMs !== undefined && pair.includes(own ?? '') && pair.includes(chassis));
  return usableGateways(local)
    .filter(({ chassis }) => chassis !== own)
    .map(({ chassis, address }) => ({ chassis, address, ...(isCutOff(chassis) ? { cutOff: true } : {}) }))
    .sort((a, b) => (a.chassis < b.chassis ? -1 : 1));
}

/** Gateways of members that the hub answers for, in the order of their names; of a foreign zone nothing is watched. */
export function peersOf({ remotes }: Situation): readonly GatewayPeer[] {
  const peers: GatewayPeer[] = [];
  for (const [cluster, { member, gateways }] of remotes.entries()) {
    if (member.foreign) continue;
    // Probes go outside of tunnels: the address within them answers none.
    const plain = new Map(member.gateways.map(({ chassis, encaps }) => [chassis, encaps[0]?.ip ?? '']));
    for (const { chassis } of gateways.gateways) peers.push({ chassis, cluster, address: plain.get(chassis) ?? '' });
  }
  return peers.sort((a, b) => (a.chassis < b.chassis ? -1 : 1));
}

function readyOf(node: string, situation: Situation, chassis: string | undefined): Verdict {
  const { local, clashes } = situation;
  const clash = clashes.find((one) => one.node === node);
  if (clash !== undefined) return bad('Ready', clash.problem);
  // An ailing or silent daemon makes no gateway of the node either: that is a consequence.
  const fault = chassis === undefined ? undefined : faultOf(chassis, situation);
  if (fault !== undefined) return fault.isKnown ? bad('Ready', fault) : unknown('Ready', fault.code, fault.message);
  const known = chassis === undefined ? undefined : local?.chassis.get(chassis);
  if (known === undefined) {
    const message = `ovn-controller of ${node} has not registered a chassis; check it and the daemon there`;
    return bad('Ready', { code: 'ChassisUnknown', message });
  }
  if (!known.isInterconnect || known.gateway.encaps.length === 0) {
    const message = `chassis ${chassis} of ${node} is not a gateway yet: ovn-is-interconn is not set, or it has no geneve address; the daemon there sets it`;
    return bad('Ready', { code: 'NotInterconnect', message });
  }
  if (local?.gatewayNodes.some((gateway) => gateway.node === node && gateway.isDrained) === true)
    return good('Ready', 'Drained', 'its paths stay on other gateways, because spec.drain is set');
  return good('Ready', 'Ready', `chassis ${chassis} can carry traffic`);
}

function mtuVerdict(
  node: string,
  object: GatewayObject | undefined,
  { wantedMtu, silent }: Situation,
  peers: readonly GatewayPeer[],
): Verdict {
  const names = new Map(peers.map(({ chassis, cluster }) => [chassis, `${chassis} of ${cluster}`]));
  const probes = (object?.probes ?? []).filter(({ chassis }) => names.has(chassis));
  const problems = probes.flatMap((probe): readonly Problem[] => {
    const problem = mtuProblem(probe, wantedMtu, { from: node, to: names.get(probe.chassis) ?? probe.chassis });
    return problem === undefined ? [] : [problem];
  });
  const [first] = problems;
  if (first !== undefined) return bad('PathMTU', { code: first.code, message: summary(problems) });
  const silentSince = silent.get(node);
  if (silentSince !== undefined)
    return unknown('PathMTU', daemonSilent, `the daemon of ${node} has measured nothing since ${silentSince}`);
  if (!probes.some(({ mtu }) => mtu !== undefined))
    return unknown('PathMTU', 'NotMeasured', 'no probe to a gateway of another cluster has been answered yet');
  return good('PathMTU', 'Enough', `packets of ${wantedMtu} bytes pass`);
}
