/**
 * Steps of the connection between two gateways. A tunnel's BFD state shows which end hears the other: state `down` at
 * this end after its detection time means that nothing arrives here; `init`, or a neighbour that signals its session
 * down, means that the other end hears nothing from this one. Probes are ICMP outside the tunnel: they distinguish a
 * blocked UDP port from a broken connection.
 */
import type { GatewayProbe, GatewayTunnel } from '../../../lib/api/kinds/interconnect-gateway.ts';
import { plural } from '../../model/units.ts';
import { type Gateway, type Snapshot } from '../../model/snapshot.ts';
import { isMeasuring, usableGateways } from './gateways.ts';
import { cause, judged, unknown, type Cause, type Outcome, type Side } from './step.ts';

/** A gateway of this cluster and a gateway of the other. */
export interface Pair {
  readonly ours: Gateway;
  readonly cluster: string;
  readonly tunnel: GatewayTunnel;
  /** The same tunnel from the other end. */
  readonly reverse: GatewayTunnel | undefined;
  readonly probe: GatewayProbe | undefined;
  /** Both ends of WireGuard, `address:port`; undefined if the tunnel is not encrypted. */
  readonly wireGuard: { readonly ours: string; readonly theirs: string } | undefined;
}

type Fault =
  | 'out'
  | 'in'
  | 'both'
  | 'mute'
  | 'dead-way'
  | 'switch-down'
  | 'their-switch-down'
  | 'gateway-mute'
  | 'gateway-down'
  | 'no-bfd'
  | 'off';

/** All tunnels to gateways of the peer, or of all peers. */
export function pairsOf({ near, far, peer }: Side): readonly Pair[] {
  return usableGateways(near)
    .filter(isMeasuring)
    .flatMap((ours) =>
      (ours.status.tunnels ?? []).flatMap((tunnel) => {
        const cluster = clusterOf(near, ours, tunnel.chassis);
        if (cluster === undefined || (peer !== undefined && cluster !== peer)) return [];
        const theirs = far?.gateways.find(
          (gateway) => gateway.status.chassis === tunnel.chassis && isMeasuring(gateway),
        );
        const reverse = theirs?.status.tunnels?.find(({ chassis }) => chassis === ours.status.chassis);
        const probe = ours.status.probes?.find(({ chassis }) => chassis === tunnel.chassis);
        return [{ ours, cluster, tunnel, reverse, probe, wireGuard: wireGuardOf(near, ours, tunnel.chassis) }];
      }),
    );
}

/** Tunnels between this cluster's own nodes do not belong to the interconnect. */
function clusterOf(near: Snapshot, ours: Gateway, chassis: string): string | undefined {
  const peer = ours.status.peers?.find((one) => one.chassis === chassis);
  if (peer !== undefined) return peer.cluster;
  return near.remotes.find(({ status }) => status.gateways?.some((one) => one.chassis === chassis) === true)?.name;
}

/** Packets of an encrypted tunnel are on the underlay as packets of WireGuard. */
function wireGuardOf({ remotes }: Snapshot, { status }: Gateway, chassis: string): Pair['wireGuard'] {
  const theirs = remotes
    .flatMap(({ status: { gateways = [] } }) => gateways)
    .find((one) => one.chassis === chassis && one.encrypted === true);
  if (theirs === undefined) return undefined;
  const seen = status.wireGuard?.peers?.find((one) => one.chassis === chassis)?.endpoint;
  const [own = '?'] = status.wireGuard?.endpoints ?? [];
  return { ours: own, theirs: seen ?? theirs.endpoints?.[0] ?? '?' };
}

const expired = /control detection time expired/i;
const signaled = /neighbor signaled session down/i;
const switchDown = /vswitchd/i;

function faultOf({ tunnel, reverse, probe }: Pair): Fault | undefined {
  if (tunnel.state === 'up') return undefined;
  if (tunnel.state === 'unknown') return 'no-bfd';
  if (tunnel.state === 'admin_down') return 'off';
  const diagnostic = tunnel.diagnostic ?? '';
  if (switchDown.test(diagnostic)) return 'switch-down';
  if (reverse !== undefined && reverse.state !== 'up' && switchDown.test(reverse.diagnostic ?? ''))
    return 'their-switch-down';
  // A session in `init` receives packets of the other end, which report that none of this end's packets arrive.
  const isHeard = tunnel.state === 'init' || signaled.test(diagnostic);
  if (isHeard) return 'out';
  if (reverse !== undefined && reverse.state !== 'up') {
    if (reverse.state === 'init' || signaled.test(reverse.diagnostic ?? '')) return 'in';
    if (isLost(probe)) return 'dead-way';
    if (reverse.state === 'down' && expired.test(reverse.diagnostic ?? '')) return 'both';
  }
  return isLost(probe) ? 'dead-way' : 'mute';
}

/** If one remote gateway answers no gateway of this cluster, and another one does, the connection between the clusters is not the cause. */
function faultsOf(pairs: readonly Pair[]): ReadonlyMap<Pair, Fault> {
  const faults = new Map<Pair, Fault>();
  for (const pair of pairs) {
    const fault = faultOf(pair);
    if (fault !== undefined) faults.set(pair, fault);
  }
  const isSilent = (pair: Pair): boolean => ['mute', 'dead-way'].includes(faults.get(pair) ?? '');
  for (const [chassis, members] of Map.groupBy(pairs, ({ tunnel }) => tunnel.chassis)) {
    const cluster = members[0]?.cluster;
    const hasNeighbour = pairs.some(
      (pair) => pair.cluster === cluster && pair.tunnel.chassis !== chassis && !faults.has(pair),
    );
    if (!hasNeighbour || !members.every(isSilent)) continue;
    const isDown = members.some(({ probe }) => isLost(probe));
    for (const pair of members) faults.set(pair, isDown ? 'gateway-down' : 'gateway-mute');
  }
  return faults;
}

function isLost(probe: GatewayProbe | undefined): boolean {
  return probe !== undefined && probe.lossPercent >= 100;
}

export function checkTunnels(side: Side): Outcome | undefined {
  const pairs = pairsOf(side);
  if (pairs.length === 0)
    return side.near.remotes.length === 0 ? undefined : unknown('no gateway daemon reports a tunnel to it');
  const faults = faultsOf(pairs);
  const groups = Map.groupBy(pairs, (pair) => `${faults.get(pair) ?? ''} ${pair.wireGuard !== undefined}`);
  const failures: Cause[] = [];
  const warnings: Cause[] = [];
  for (const members of groups.values()) {
    const [first] = members;
    const fault = first && faults.get(first);
    if (first === undefined || fault === undefined) continue;
    const found =
      first.wireGuard !== undefined && blocked.has(fault)
        ? wireGuardCause(fault, members, side)
        : causeOf(fault, members, side);
    if (fault === 'no-bfd' || fault === 'off') warnings.push(found);
    else failures.push(found);
  }
  const up = pairs.length - faults.size;
  return judged(failures, warnings, `${plural(up, 'tunnel')} up`);
}

/** Faults of which the port of the tunnel may be the cause. */
const blocked: ReadonlySet<Fault> = new Set(['out', 'in', 'both', 'mute', 'gateway-mute']);

function wireGuardCause(fault: Fault, pairs: readonly Pair[], { near }: Side): Cause {
  const ways = pairs.flatMap(({ wireGuard }) =>
    wireGuard === undefined ? [] : [`${wireGuard.ours} and ${wireGuard.theirs}`],
  );
  const names = [...new Set(ways)];
  const between = `${names.slice(0, shown).join(', ')}${names.length > shown ? `, and ${names.length - shown} more` : ''}`;
  const what =
    fault === 'out'
      ? `packets of ${near.label} do not arrive at the other end, whose packets arrive here`
      : fault === 'in'
        ? `packets of the other end do not arrive at ${near.label}, while ours arrive there`
        : 'nothing arrives from the other end';
  return cause(
    'WireGuardBlocked',
    `the tunnel is encrypted, and ${what}: udp between ${between} is dropped on the way, or WireGuard or Open vSwitch of one end is dead: ${nameAll(pairs, near.label)}`,
    `let udp between ${between} through, in both directions, on every firewall, security group and policy; then check wireguard-go (pod isthmus-wireguard) and ovs-vswitchd of both gateways`,
  );
}

function causeOf(fault: Fault, pairs: readonly Pair[], side: Side): Cause {
  const who = nameAll(pairs, side.near.label);
  const firewall =
    'let udp port 6081 through, in both directions, on every firewall, security group and policy between the two addresses';
  const tellApart = side.far === undefined ? '; with --peer-kubeconfig this command can find out which' : '';
  switch (fault) {
    case 'out':
      return cause(
        'TunnelBlockedOutgoing',
        `geneve packets (udp 6081) from ${side.near.label} do not arrive at the other end, whose packets arrive here: ${who}`,
        firewall,
      );
    case 'in':
      return cause(
        'TunnelBlockedIncoming',
        `geneve packets (udp 6081) from the other end do not arrive at ${side.near.label}, while ours arrive there: ${who}`,
        firewall,
      );
    case 'both':
      return cause(
        'TunnelBlocked',
        `geneve packets (udp 6081) pass in neither direction, although the addresses can reach each other: ${who}`,
        firewall,
      );
    case 'mute': {
      const icmp = pairs.some(({ probe }) => probe !== undefined) ? ', though their addresses answer to ICMP' : '';
      const message = `nothing arrives from the other end through the tunnel${icmp}: udp 6081 is dropped on the way, or Open vSwitch there is dead or frozen${tellApart}: ${who}`;
      return cause('TunnelDown', message, `check that ovs-vswitchd runs on the other gateway; then ${firewall}`);
    }
    case 'dead-way':
      return cause(
        'UnderlayUnreachable',
        `the tunnel addresses cannot reach each other at all, not even by ICMP: ${who}`,
        'check that the other gateway is up, then routes and firewalls between these addresses',
      );
    case 'switch-down':
      return switchCause(
        side.near.label,
        pairs.map(({ ours }) => ours.node),
      );
    case 'their-switch-down':
      // Uses the wording of the other side's step, so that the cause is reported once.
      return switchCause(
        side.far?.label ?? '',
        pairs.map((pair) => nodeThere(side, pair)),
      );
    case 'gateway-down':
      return cause(
        'GatewayDown',
        `${gatewaysThere(pairs)} answers no gateway of ${side.near.label}, neither through the tunnel nor to ICMP, while other gateways there do: ovs-vswitchd on it is dead or frozen, or the node or its link is down`,
        `look at ovs-vswitchd on that node first (with a userspace datapath the address of the node is lost with it), then at the node itself`,
      );
    case 'gateway-mute':
      return cause(
        'TunnelDown',
        `nothing arrives from ${gatewaysThere(pairs)} through the tunnel, while packets of other gateways there do: ovs-vswitchd on it is dead or frozen, or udp 6081 from it is dropped${tellApart}`,
        `check that ovs-vswitchd runs on that gateway; then ${firewall}`,
      );
    case 'no-bfd':
      return cause(
        'BfdOff',
        `no BFD runs on the tunnel, so the failure of a gateway there is not detected: ${who}`,
        'both sides need a release that joins all gateways in one HA group; a zone with its own ovn-ic has no BFD',
      );
    case 'off':
      return cause(
        'BfdOff',
        `BFD is disabled by hand on the tunnel: ${who}`,
        'ovs-vsctl set interface INTERFACE bfd:enable=true on the node',
      );
  }
}

function switchCause(label: string, nodes: readonly string[]): Cause {
  return cause(
    'VswitchdDown',
    `ovs-vswitchd does not run, or is frozen, on a gateway of ${label}: ${[...new Set(nodes)].sort().join(', ')}`,
    'start ovs-vswitchd on that node; its log says why it ended',
  );
}

function nodeThere({ far }: Side, { tunnel }: Pair): string {
  return far?.gateways.find(({ status }) => status.chassis === tunnel.chassis)?.node ?? tunnel.chassis;
}

function gatewaysThere(pairs: readonly Pair[]): string {
  const names = new Set(pairs.map(({ cluster, tunnel }) => `${cluster}/${tunnel.chassis} (${tunnel.address})`));
  return `gateway ${[...names].join(', ')}`;
}

const shown = 4;

function nameAll(pairs: readonly Pair[], label: string): string {
  const names = pairs.map(({ ours, cluster, tunnel }) => {
    const detail = [tunnel.state, tunnel.diagnostic].filter(
      (text) => text !== undefined && text !== '' && text !== 'No Diagnostic',
    );
    return `${label}/${ours.node} (${ours.status.address ?? '?'}) – ${cluster}/${tunnel.chassis} (${tunnel.address}): ${detail.join(', ')}`;
  });
  const rest = names.length - shown;
  return [...names.slice(0, shown), ...(rest > 0 ? [`and ${rest} more`] : [])].join('; ');
}

export function checkMtu(side: Side): Outcome | undefined {
  const probed = usableGateways(side.near)
    .filter(isMeasuring)
    .flatMap((ours) =>
      (ours.status.probes ?? []).flatMap((probe) => {
        const cluster = clusterOf(side.near, ours, probe.chassis);
        const isMeant = cluster !== undefined && (side.peer === undefined || cluster === side.peer);
        return isMeant ? [{ ours, cluster, probe }] : [];
      }),
    );
  if (probed.length === 0) return undefined;
  const failures: Cause[] = [];
  const warnings: Cause[] = [];
  for (const { ours, cluster, probe } of probed) {
    const wanted = ours.status.wantedMTU ?? 0;
    const way = `${side.near.label}/${ours.node} (${ours.status.address ?? '?'}) – ${cluster}/${probe.chassis} (${probe.address})`;
    if (probe.mtu !== undefined && probe.mtu > 0 && probe.mtu < wanted) {
      const message = `IP packets above ${probe.mtu} bytes do not pass, pods need ${wanted}: ${way}`;
      const fix = `raise the MTU of the links on the way to ${wanted} or more, or lower the MTU of pods by ${wanted - probe.mtu} (chart value networking.mtu)`;
      failures.push(cause('PathMTUTooSmall', message, fix));
    } else if (isLost(probe)) {
      if (tunnelOf(ours, probe)?.state === 'up')
        warnings.push(
          cause(
            'IcmpBlocked',
            `the tunnel is up, but ICMP is dropped, so loss and MTU are not known: ${way}`,
            'let ICMP echo through between the tunnel addresses',
          ),
        );
    } else if (probe.lossPercent > 0)
      warnings.push(
        cause(
          'PacketLoss',
          `${probe.lossPercent}% of the probes are lost: ${way}`,
          'look at the underlay between the two addresses',
        ),
      );
  }
  return judged(
    failures,
    warnings,
    `every path carries packets of the size that pods need (${plural(probed.length, 'probe')})`,
  );
}

function tunnelOf(ours: Gateway, probe: GatewayProbe): GatewayTunnel | undefined {
  return ours.status.tunnels?.find(({ chassis }) => chassis === probe.chassis);
}
