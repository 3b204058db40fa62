/**
 * The health of a gateway of this cluster from all sources: the programs that its daemon reports, whether that daemon
 * still checks, whether others hear its tunnels, whether its ovn-controller follows. The first cause that
 * explains the rest is named: a dead node silences everything, and ovn-controller stalls where ovs-vswitchd does. Pure.
 */
import { isTunnelDown, type GatewayProgram } from '../../lib/api/kinds/interconnect-gateway.ts';
import type { Problem } from '../../lib/desired/problem.ts';
import { controllerStuck } from './stuck.ts';
import type { Situation } from './situation.ts';

export interface GatewayFault extends Problem {
  readonly node: string;
  /** False: the gateway may be well; its state is unknown. */
  readonly isKnown: boolean;
}

/** The facts that a fault is recognised by. */
export interface Evidence {
  readonly node: string;
  readonly chassis: string;
  /** When its daemon last checked, where it is silent. */
  readonly silentSince: string | undefined;
  /** Reported by its daemon, while that is not silent. */
  readonly programs: readonly GatewayProgram[];
  /** Undefined if no other gateway or cluster reports it. */
  readonly isHeard: boolean | undefined;
  /** Since when its ovn-controller has applied nothing. */
  readonly behindMs: number | undefined;
  readonly isDead: boolean;
}

type Facts = Pick<
  Situation,
  'local' | 'gatewayOf' | 'isDead' | 'silent' | 'behind' | 'unreachedBy' | 'members' | 'link'
>;

/** Faults with which a gateway applies nothing new. */
export const stalledCodes: readonly string[] = [
  'VswitchdDown',
  'GatewayDown',
  'OvsdbServerDown',
  'OvnControllerDown',
  controllerStuck,
];
export const daemonSilent = 'DaemonSilent';

export function faultOf(chassis: string, facts: Facts): GatewayFault | undefined {
  const node = facts.local?.gatewayNodes.find((gateway) => gateway.chassis === chassis)?.node;
  if (node === undefined) return undefined;
  const silentSince = facts.silent.get(node);
  const behindMs = facts.behind.get(node);
  return judge({
    node,
    chassis,
    silentSince,
    behindMs,
    programs: silentSince === undefined ? (facts.gatewayOf(chassis)?.status.silentPrograms ?? []) : [],
    isHeard: silentSince === undefined && behindMs === undefined ? true : isHeard(chassis, facts),
    isDead: facts.isDead(chassis),
  });
}

const lookThere =
  'look at ovs-vswitchd there first (with a userspace datapath the address of the node is lost with it), then at the node and its link';

export function judge(evidence: Evidence): GatewayFault | undefined {
  const { node, chassis, silentSince, programs, behindMs } = evidence;
  const known = (code: string, message: string): GatewayFault => ({ node, code, message, isKnown: true });
  if (programs.includes('ovs-vswitchd'))
    return known(
      'VswitchdDown',
      `ovs-vswitchd of gateway ${node} does not answer: it is dead or frozen, and it forwards nothing; start or resume it; its log says why it ended`,
    );
  const [isSilent, isBehind] = [silentSince !== undefined, behindMs !== undefined];
  const isGone = evidence.isHeard === false ? isSilent || isBehind : evidence.isHeard !== true && isSilent && isBehind;
  if (isGone)
    return known(
      'GatewayDown',
      `no BFD packets arrive from gateway ${node} (chassis ${chassis})${silentSince === undefined ? '' : `, of its daemon since ${silentSince}`}: ovs-vswitchd on it is dead or frozen, or the node or its link is down; ${lookThere}`,
    );
  if (evidence.isDead)
    return known(
      'Lost',
      `chassis ${chassis} of ${node} lost its port to another gateway and its tunnels have not come up since; look at Open vSwitch and ovn-controller there`,
    );
  if (programs.includes('ovsdb-server'))
    return known(
      'OvsdbServerDown',
      `the Open_vSwitch database of gateway ${node} does not answer: reports of its tunnels are the last known ones, and with a userspace datapath it forwards nothing; start or resume its ovsdb-server`,
    );
  if (programs.includes('ovn-controller'))
    return known(
      'OvnControllerDown',
      `ovn-controller of gateway ${node} does not answer: it is dead or frozen, and the gateway forwards with its last flows; check its process and log there`,
    );
  if (silentSince === undefined) return undefined;
  const message = `the daemon of gateway ${node} has not looked at its tunnels since ${silentSince}: it is dead, frozen or cut off from the API server, and its last report is ignored; check isthmus-daemon there`;
  return { node, code: daemonSilent, message, isKnown: false };
}

/** By reports of the daemons of other gateways here; where there are none, of the other clusters. */
function isHeard(chassis: string, facts: Facts): boolean | undefined {
  const others = (facts.local?.gatewayNodes ?? []).filter(
    (one) => one.chassis !== chassis && !facts.silent.has(one.node),
  );
  const words = others.flatMap((one) => {
    const tunnel = facts.gatewayOf(one.chassis)?.siblingTunnels.find((sibling) => sibling.chassis === chassis);
    return tunnel === undefined || tunnel.state === 'unknown' ? [] : [!isTunnelDown(tunnel.state)];
  });
  return words.length > 0 ? words.includes(true) : isReached(facts);
}

/**
 * Whether some other connected cluster reaches this one; undefined if none is connected or its report does not
 * arrive: without the hub, or through a hub that does not pass such reports on.
 */
export function isReached({
  members,
  unreachedBy,
  link,
}: Pick<Situation, 'members' | 'unreachedBy' | 'link'>): boolean | undefined {
  if (!link.isConnected || unreachedBy === undefined) return undefined;
  const witnesses = [...members.values()].filter(
    ({ foreign, connected, gateways }) => !foreign && connected && gateways.length > 0,
  );
  return witnesses.length === 0 ? undefined : witnesses.some(({ name }) => !unreachedBy.has(name));
}
