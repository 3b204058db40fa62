/**
 * One other cluster as rows of this one. In: what the hub says of it, this cluster, what others have. Out: its
 * chassis and tunnels (SB), its port on the transit switch, routes and policies (NB), and what was not taken.
 * Pure. Rule: nothing a remote cluster says may change how local addresses are forwarded.
 */
import { cidrContains, cidrsOverlap, formatCidr, parseCidr, type Cidr } from '../../lib/net/cidr.ts';
import { parseIp } from '../../lib/net/ip.ts';
import type { Problem } from '../../lib/desired/problem.ts';
import { ref, type Contribution, type Desired, type DesiredRow } from '../../lib/desired/row.ts';
import type { Gateway, Member, Port, Route, TransitSwitch } from '../link/messages.ts';
import { transitRouterPort, type LocalView } from '../state/local.ts';

/** Between Kube-OVN's policies for its subnets' gateways (29000) and those for local destinations (31000). */
const policyPriority = 29_500;

export interface RemoteRoute {
  readonly prefix: string;
  readonly transitSwitch: string;
  readonly nextHop: string;
  /** Undefined: it is in use. */
  readonly rejected: Problem | undefined;
}

export interface RemotePlan {
  readonly northbound: Desired;
  readonly southbound: Desired;
  readonly routes: readonly RemoteRoute[];
  /** Gateways that were not taken. */
  readonly problems: readonly Problem[];
}

/** What the plan of one remote cluster depends on besides that cluster. */
export interface RemoteContext {
  readonly local: LocalView;
  readonly switches: readonly TransitSwitch[];
  /** Transit switches with a port of ours that some chassis may hold. */
  readonly attached: ReadonlySet<string>;
}

/** Prefixes of members the hub answers for: a foreign zone, which nobody checks, cannot take one of them. */
export type NativePrefixes = readonly { readonly cidr: Cidr; readonly holder: string }[];

export function nativePrefixes(members: Iterable<Member>): NativePrefixes {
  return [...members].flatMap(({ name, foreign, routes }) =>
    (foreign ? [] : routes).flatMap(({ prefix }) => {
      const cidr = parseCidr(prefix);
      return cidr === undefined ? [] : [{ cidr, holder: name }];
    }),
  );
}

export function remoteOwner(cluster: string): string {
  return `remote/${cluster}`;
}

export function encapKey(type: string, ip: string): string {
  return `${type}/${ip}`;
}

export function planRemote(member: Member, context: RemoteContext, native: NativePrefixes = []): RemotePlan {
  const { accepted, problems } = acceptGateways(member, context.local);
  const ports = member.ports.filter(({ transitSwitch }) => context.switches.some(({ name }) => name === transitSwitch));
  const chassis = new Set(accepted.map((gateway) => gateway.chassis));
  const routes = member.routes.map((route) => judge(route, member, context, native));
  const usable = routes.filter(({ rejected }) => rejected === undefined);
  return {
    northbound: {
      rows: [
        ...ports.map(remotePort),
        ...usable.map((route) => routeRow(route, member.name, context.local)),
        ...policyRows(usable, member.name, context.local),
      ],
    },
    southbound: { rows: accepted.flatMap(chassisRows), contributions: ports.map((port) => binding(port, chassis)) },
    routes,
    problems,
  };
}

function acceptGateways(
  member: Member,
  local: LocalView,
): { accepted: readonly Gateway[]; problems: readonly Problem[] } {
  const encaps = new Map<string, string>();
  for (const [name, { gateway }] of local.chassis)
    for (const { type, ip } of gateway.encaps) encaps.set(encapKey(type, ip), name);
  const problems: Problem[] = [];
  const accepted = member.gateways.filter(({ chassis, encaps: theirs }) => {
    const clash = theirs.map(({ type, ip }) => encaps.get(encapKey(type, ip))).find((name) => name !== undefined);
    if (local.chassis.has(chassis)) {
      const message = `gateway ${chassis} of ${member.name} has the name of a chassis of this cluster; one of the two needs another system-id`;
      problems.push({ code: 'DuplicateChassis', message });
    } else if (clash !== undefined) {
      const message = `gateway ${chassis} of ${member.name} has the tunnel address of ${clash} of this cluster`;
      problems.push({ code: 'DuplicateEncap', message });
    } else return theirs.length > 0;
    return false;
  });
  return { accepted, problems };
}

function judge(route: Route, member: Member, context: RemoteContext, native: NativePrefixes): RemoteRoute {
  const { prefix, transitSwitch, nexthop } = route;
  return { prefix, transitSwitch, nextHop: nexthop, rejected: refuse(route, member, context, native) };
}

function refuse(
  { prefix, transitSwitch, nexthop }: Route,
  member: Member,
  context: RemoteContext,
  native: NativePrefixes,
): Problem | undefined {
  const { local } = context;
  const cidr = parseCidr(prefix);
  const hop = parseIp(nexthop);
  const network = context.switches.find(({ name }) => name === transitSwitch);
  const transit = network === undefined ? undefined : parseCidr(network.cidr);
  if (cidr === undefined || cidr.prefix === 0)
    return { code: 'PrefixInvalid', message: `"${prefix}" of ${member.name} is no prefix that can be taken` };
  if (transit === undefined || hop === undefined || !cidrContains(transit, hop) || hop.family !== cidr.family) {
    const message = `${prefix} of ${member.name}: next hop "${nexthop}" is not on a transit switch of this cluster (${transitSwitch})`;
    return { code: 'NextHopUnreachable', message };
  }
  if (member.gateways.length === 0) {
    return { code: 'NextHopUnreachable', message: `${prefix} of ${member.name}: that cluster has no gateway now` };
  }
  if (!context.attached.has(transitSwitch)) {
    return {
      code: 'NoGateway',
      message: `${prefix} of ${member.name}: no node of this cluster is a gateway; label one with ovn.kubernetes.io/ic-gw=true`,
    };
  }
  // A local range inside the prefix keeps its own traffic by its longer mask, and must not take the rest from the others.
  const range = local.ranges.find((held) => held.cidr.prefix <= cidr.prefix && cidrsOverlap(held.cidr, cidr));
  if (range !== undefined) return overlap(prefix, member, `${formatCidr(range.cidr)} (${range.name}) of this cluster`);
  const node = local.nodeAddresses.find(({ ip }) => cidrContains(cidr, ip));
  if (node !== undefined) return overlap(prefix, member, `the address of node ${node.node}`);
  const other = member.foreign ? native.find((held) => cidrsOverlap(held.cidr, cidr)) : undefined;
  return other === undefined ? undefined : overlap(prefix, member, `${formatCidr(other.cidr)} of ${other.holder}`);
}

function overlap(prefix: string, member: Member, what: string): Problem {
  return { code: 'Overlap', message: `${prefix} of ${member.name} overlaps ${what}; it is not reachable from here` };
}

function remotePort({ logicalPort, transitSwitch, mac, networks, tunnelKey }: Port): DesiredRow {
  return {
    table: 'Logical_Switch_Port',
    key: logicalPort,
    columns: {
      type: 'remote',
      addresses: [[mac, ...networks].join(' ')],
      options: { 'requested-tnl-key': String(tunnelKey) },
    },
    parent: { table: 'Logical_Switch', key: transitSwitch, column: 'ports' },
  };
}

function routeRow({ prefix, transitSwitch, nextHop }: RemoteRoute, cluster: string, local: LocalView): DesiredRow {
  return {
    table: 'Logical_Router_Static_Route',
    key: `${cluster}/${prefix}/${nextHop}`,
    columns: { ip_prefix: prefix, nexthop: nextHop, output_port: transitRouterPort(local.cluster, transitSwitch) },
    parent: { table: 'Logical_Router', key: local.router, column: 'static_routes' },
  };
}

/** One for each prefix, however many next hops it has. */
function policyRows(routes: readonly RemoteRoute[], cluster: string, local: LocalView): readonly DesiredRow[] {
  return [...new Set(routes.map(({ prefix }) => prefix))].map((prefix) => ({
    table: 'Logical_Router_Policy',
    key: `${cluster}/${prefix}`,
    columns: {
      priority: policyPriority,
      match: `${prefix.includes(':') ? 'ip6' : 'ip4'}.dst == ${prefix}`,
      action: 'allow',
    },
    parent: { table: 'Logical_Router', key: local.router, column: 'policies' },
  }));
}

function chassisRows({ chassis, hostname, encaps }: Gateway): readonly DesiredRow[] {
  return [
    ...encaps.map(({ type, ip, options }) => ({
      table: 'Encap',
      key: encapKey(type, ip),
      columns: { type, ip, options, chassis_name: chassis },
    })),
    {
      table: 'Chassis',
      key: chassis,
      columns: {
        hostname,
        other_config: { 'is-remote': 'true' },
        encaps: encaps.map(({ type, ip }) => ref('Encap', encapKey(type, ip))),
      },
    },
  ];
}

/** northd makes the binding; where the port is, only we know. */
function binding({ logicalPort, gateway }: Port, chassis: ReadonlySet<string>): Contribution {
  return {
    table: 'Port_Binding',
    key: logicalPort,
    column: 'chassis',
    value: chassis.has(gateway) ? ref('Chassis', gateway) : null,
  };
}
