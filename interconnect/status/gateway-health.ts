/**
 * How a gateway of this cluster is, by all that is known of it: what its daemon says of programs, whether that daemon still
 * looks, whether others hear its tunnels, whether its ovn-controller follows. The first cause that explains the rest is
 * named: all is silent on a node that is dead, and ovn-controller stands still where ovs-vswitchd does. Pure.
 */
import { isTunnelDown, type GatewayProgram } from '../../lib/api/kinds/interconnect-gateway.ts';
import type { Problem } from '../../lib/desired/problem.ts';
import { controllerStuck } from './stuck.ts';
import type { Situation } from './situation.ts';

export interface Ailment extends Problem {
  readonly node: string;
  /** False: it may be well, nobody knows. */
  readonly isKnown: boolean;
}

/** What an ailment is recognized by. */
export interface Evidence {
  readonly node: string;
  readonly chassis: string;
  /** When its daemon last looked, where it does not any more. */
  readonly silentSince: string | undefined;
  /** By its daemon, while that looks. */
  readonly programs: readonly GatewayProgram[];
  /** Undefined where nobody can tell. */
  readonly isHeard: boolean | undefined;
  /** Since when its ovn-controller follows no more. */
  readonly behindMs: number | undefined;
  readonly isDead: boolean;
}

type Facts = Pick<
  Situation,
  'local' | 'gatewayOf' | 'isDead' | 'silent' | 'behind' | 'unreachedBy' | 'members' | 'link'
>;

/** Ailments with which a gateway takes up nothing new. */
export const stalledCodes: readonly string[] = [
  'VswitchdDown',
  'GatewayDown',
  'OvsdbServerDown',
  'OvnControllerDown',
  controllerStuck,
];
export const daemonSilent = 'DaemonSilent';

export function ailmentOf(chassis: string, facts: Facts): Ailment | undefined {
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
  'look at ovs-vswitchd there first (with a userspace datapath the address of the node goes with it), then at the node and its link';

export function judge(evidence: Evidence): Ailment | undefined {
  const { node, chassis, silentSince, programs, behindMs } = evidence;
  const known = (code: string, message: string): Ailment => ({ node, code, message, isKnown: true });
  if (programs.includes('ovs-vswitchd'))
    return known(
      'VswitchdDown',
      `ovs-vswitchd of gateway ${node} does not answer: it is dead or frozen, and nothing passes there; start or thaw it, its log says why it ended`,
    );
  const [isSilent, isBehind] = [silentSince !== undefined, behindMs !== undefined];
  const isGone = evidence.isHeard === false ? isSilent || isBehind : evidence.isHeard !== true && isSilent && isBehind;
  if (isGone)
    return known(
      'GatewayDown',
      `nothing is heard of gateway ${node} (chassis ${chassis})${silentSince === undefined ? '' : `, of its daemon since ${silentSince}`}: ovs-vswitchd on it is dead or frozen, or the node or its link is down; ${lookThere}`,
    );
  if (evidence.isDead)
    return known(
      'Lost',
      `chassis ${chassis} of ${node} lost its port to another gateway and its tunnels have not come up since; look at Open vSwitch and ovn-controller there`,
    );
  if (programs.includes('ovsdb-server'))
    return known(
      'OvsdbServerDown',
      `the Open_vSwitch database of gateway ${node} does not answer: what is said of its tunnels is as last seen, and with a userspace datapath nothing passes there; start or thaw its ovsdb-server`,
    );
  if (programs.includes('ovn-controller'))
    return known(
      'OvnControllerDown',
      `ovn-controller of gateway ${node} does not answer: it is dead or frozen, and the gateway forwards by what it had; look at its process and log there`,
    );
  if (silentSince === undefined) return undefined;
  const message = `the daemon of gateway ${node} has not looked at its tunnels since ${silentSince}: it is dead, frozen or cut off from the API server, and what it said is not known any more; look at isthmus-daemon there`;
  return { node, code: daemonSilent, message, isKnown: false };
}

/** By the daemons of other gateways here; where there is none, by the other clusters. */
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

/** Whether some other cluster that speaks reaches this one; undefined where none speaks, or none can be heard: without the hub, or by one that passes no such word on. */
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
