/**
 * Plans the rows of another cluster. In: the member as the hub reports it, this cluster, and which of the member's routes and
 * paths are used. Out: its chassis and tunnels (SB), its ports on the transit switches and its routes (NB). Pure.
 *
 * A port of a member with paths is external, held by the group of that cluster's gateways in the order it published:
 * ovn-controller makes it an active-backup bundle over the tunnels, so that the datapath fails over by itself. OVN has
 * no L2 lookup for external ports; a row of the FDB stands in for it. A zone with plain ovn-ic has remote ports, each
 * on the chassis it names.
 */
import { handleOf, transitRouterPort } from '../model/port-names.ts';
import { defaultVpc } from '../../lib/api/names.ts';
import { learnedOrigin } from '../../lib/route-policy/policy.ts';
import { ref, type Contribution, type Desired, type DesiredRow } from '../../lib/desired/row.ts';
import type { Gateway, Member, Port } from '../model/messages.ts';
import type { OwnNetwork, OwnPath } from '../model/networks.ts';
import type { RouteUse } from '../settle/route-use.ts';
import { encapKey, fdbKey, fdbOwner } from '../model/owners.ts';
import { bfdGroup, cutSet, exemptSet, haGroup, otherBfdMember } from './transit.ts';
import { planWitnesses } from './witnesses.ts';
import { familyOf } from '../../lib/net/ip.ts';

export interface RemotePlan {
  readonly northbound: Desired;
  readonly southbound: Desired;
  /** Forwarding entries by owner: the owner of each row follows from its content. */
  readonly fdb: ReadonlyMap<string, Desired>;
}

export interface RemoteInput {
  readonly member: Member;
  /** Of this cluster. */
  readonly ownHandle: string;
  /** Chassis of this cluster that have tunnels to others. */
  readonly ownGateways: readonly string[];
  readonly networks: ReadonlyMap<string, OwnNetwork>;
  readonly gateways: readonly Gateway[];
  /** Gateways that are gone, whose chassis stay for now. */
  readonly departing: readonly Gateway[];
  readonly routes: readonly RouteUse[];
}

export function planRemote({
  member,
  ownHandle,
  ownGateways,
  networks,
  gateways,
  departing,
  routes,
}: RemoteInput): RemotePlan {
  const handle = handleOf(member);
  const paths = new Map([...networks.values()].flatMap((network) => network.paths.map((path) => [path.switch, path])));
  const ports = member.ports.filter((port) => paths.has(port.switch));
  const chassis = new Set(gateways.map((gateway) => gateway.chassis));
  const accepted = routes.filter(({ rejected }) => rejected === undefined);
  const portRows = member.foreign
    ? ports.map(remotePort)
    : ports.flatMap((port) => externalPort(port, chassis, ownGateways));
  // No BFD runs to a foreign zone: its gateways cannot be witnesses.
  const witnesses = planWitnesses(networks.values(), ports, member.foreign ? [] : gateways);
  return {
    northbound: {
      rows: [
        ...(member.foreign ? [] : gateways.map((gateway) => otherBfdMember(gateway.chassis))),
        ...portRows,
        ...witnesses.rows,
        ...accepted.flatMap((route) => routeRows(route, handle, ownHandle)),
      ],
      contributions: exemptions(accepted),
    },
    southbound: {
      rows: [...gateways, ...departing].flatMap(chassisRows),
      contributions: member.foreign ? ports.map((port) => binding(port, chassis)) : witnesses.bindings,
    },
    fdb: new Map(member.foreign ? [] : ports.flatMap((port) => fdbEntry(port, paths.get(port.switch)))),
  };
}

/**
 * ovn-controller ignores a group of one chassis and reads where the port is bound, which no release of northd lets other
 * programs write. So the gateways of this cluster are added after a single one: if it is dead, they get the port and drop
 * its traffic, as they should.
 */
function externalPort(
  { logicalPort, switch: name, mac, networks, ...port }: Port,
  known: ReadonlySet<string>,
  ownGateways: readonly string[],
): readonly DesiredRow[] {
  const group = `${bfdGroup}:${logicalPort}`;
  const published = port.gateways.filter((chassis) => known.has(chassis));
  const order = published.length === 1 ? [...published, ...ownGateways] : published;
  const row: DesiredRow = {
    table: 'Logical_Switch_Port',
    key: logicalPort,
    columns: {
      type: 'external',
      addresses: [[mac, ...networks].join(' ')],
      options: { 'requested-tnl-key': String(port.tunnelKey) },
      ha_chassis_group: ref('HA_Chassis_Group', group),
    },
    parent: { table: 'Logical_Switch', key: name, column: 'ports' },
  };
  return [...haGroup(group, order), row];
}

function remotePort({ logicalPort, switch: name, mac, networks, tunnelKey }: Port): DesiredRow {
  return {
    table: 'Logical_Switch_Port',
    key: logicalPort,
    columns: {
      type: 'remote',
      addresses: [[mac, ...networks].join(' ')],
      options: { 'requested-tnl-key': String(tunnelKey) },
    },
    parent: { table: 'Logical_Switch', key: name, column: 'ports' },
  };
}

/** northd removes an entry whose datapath it has not created yet, so the entry waits for the port. */
function fdbEntry(
  { logicalPort, mac, tunnelKey }: Port,
  path: OwnPath | undefined,
): readonly (readonly [string, Desired])[] {
  const owner = path === undefined ? undefined : fdbOwner(path.tunnelKey, mac);
  if (path === undefined || owner === undefined) return [];
  const columns = { mac, dp_key: path.tunnelKey, port_key: tunnelKey };
  const awaited: Contribution = {
    table: 'Port_Binding',
    key: logicalPort,
    column: 'chassis',
    values: [],
    required: true,
  };
  return [[owner, { rows: [{ table: 'FDB', key: fdbKey(path.tunnelKey, mac), columns }], contributions: [awaited] }]];
}

function routeRows({ prefix, router, hops }: RouteUse, handle: string, own: string): readonly DesiredRow[] {
  return hops
    .filter(({ isUsed }) => isUsed)
    .map(({ switch: name, address }) => ({
      table: 'Logical_Router_Static_Route',
      key: `${handle}/${prefix}/${address}`,
      columns: { ip_prefix: prefix, nexthop: address, output_port: transitRouterPort(own, name) },
      parent: { table: 'Logical_Router', key: router, column: 'static_routes' },
    }));
}

/**
 * A prefix stays exempt while no path is up, so that its packets do not leave by another route. Prefixes that the cluster
 * learned from its routers are exempt only while they have a hop, because another router may reach them too.
 */
function exemptions(routes: readonly RouteUse[]): readonly Contribution[] {
  const hasUsedHop = ({ hops }: RouteUse): boolean => hops.some(({ isUsed }) => isUsed);
  const chosen = routes.filter(
    (route) => route.router === defaultVpc && route.isChosen && (route.origin !== learnedOrigin || hasUsedHop(route)),
  );
  const withoutHop = chosen.filter((route) => !hasUsedHop(route));
  return ([4, 6] as const).flatMap((family) => [
    ...members(exemptSet(family), chosen, family),
    ...members(cutSet(family), withoutHop, family),
  ]);
}

function members(set: string, routes: readonly RouteUse[], family: 4 | 6): readonly Contribution[] {
  const values = routes.map(({ prefix }) => prefix).filter((prefix) => familyOf(prefix) === family);
  if (values.length === 0) return [];
  return [{ table: 'Address_Set', key: set, column: 'addresses', values: [...new Set(values)] }];
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

/** northd creates the binding; this room sets its chassis, which no other program knows. */
function binding({ logicalPort, holder, gateways }: Port, chassis: ReadonlySet<string>): Contribution {
  const place = holder === '' ? (gateways[0] ?? '') : holder;
  return {
    table: 'Port_Binding',
    key: logicalPort,
    column: 'chassis',
    value: chassis.has(place) ? ref('Chassis', place) : null,
  };
}
