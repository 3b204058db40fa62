/** The router of a VpcEgressGateway: its link to the router of the VPC, its ports outside, and what it does with packets. */
import { ref, type DesiredRow } from '../../../lib/desired/row.ts';
import { cidrCovers, cidrsOverlap, cidrSize, formatCidr, parseCidr, type Cidr } from '../../../lib/net/cidr.ts';
import { bitsOf, type Family } from '../../../lib/net/ip.ts';
import { deriveMac } from '../../../lib/net/mac.ts';
import type { EgressLink } from '../../model/egress-gateway.ts';
import { egressSet, routerMacSpace } from '../../model/ovn-names.ts';
import type { View } from '../../model/view.ts';
import { gatewayIp } from '../../settle/subnet/subnet-net.ts';
import { matchFamily, vendorIds } from '../names.ts';
import { ownCidrs } from '../underlay/own-cidrs.ts';
import { chassisRows } from '../external/gateway-port.ts';
import { addressIn, type ServedGateway, type ServedPort } from './served.ts';

const everything = { 4: '0.0.0.0/0', 6: '::/0' } as const;

/** The ports of the link, by the side they are on. */
export function linkPorts({ vpc, router }: Pick<ServedGateway, 'vpc' | 'router'>): {
  readonly near: string;
  readonly far: string;
} {
  return { near: `${vpc}-${router}`, far: `${router}-link` };
}

function linkRows(gateway: ServedGateway): readonly DesiredRow[] {
  const { near, far } = linkPorts(gateway);
  const row = (name: string, side: 'near' | 'far', peer: string, parent: string): DesiredRow => ({
    table: 'Logical_Router_Port',
    key: name,
    columns: {
      mac: deriveMac(routerMacSpace, name),
      networks: gateway.link.map((link) => `${link[side]}/${link.prefix}`),
      peer,
      external_ids: vendorIds,
    },
    parent: { table: 'Logical_Router', key: parent, column: 'ports' },
  });
  return [row(near, 'near', far, gateway.vpc), row(far, 'far', near, gateway.router)];
}

function portRows({ router, subnet, parts }: ServedGateway, port: ServedPort): readonly DesiredRow[] {
  const { name, allocation, nodes } = port;
  const networks = parts.flatMap(({ cidr: { family, prefix } }) => {
    const address = addressIn(allocation, family);
    return address === undefined ? [] : [`${address}/${prefix}`];
  });
  return [
    {
      table: 'Logical_Switch_Port',
      key: `${subnet}-${name}`,
      columns: {
        type: 'router',
        addresses: ['router'],
        // The node that holds the port announces its address by gratuitous ARP.
        options: { 'router-port': name, 'nat-addresses': 'router' },
        external_ids: { ...vendorIds, ls: subnet },
      },
      parent: { table: 'Logical_Switch', key: subnet, column: 'ports' },
    },
    {
      table: 'Logical_Router_Port',
      key: name,
      columns: {
        mac: allocation.mac,
        networks,
        gateway_chassis: nodes.map(({ chassis }) => ref('Gateway_Chassis', `${name}-${chassis}`)),
        external_ids: vendorIds,
      },
      parent: { table: 'Logical_Router', key: router, column: 'ports' },
    },
    ...chassisRows(name, nodes),
  ];
}

/** Without these OVN chooses among equal routes by a hash that leaves out the ports of UDP. */
const selectionFields = ['ip_proto', 'ip_src', 'ip_dst', 'ipv6_src', 'ipv6_dst', 'tp_src', 'tp_dst'] as const;

function routeRow(
  router: string,
  key: string,
  columns: {
    readonly ip_prefix: string;
    readonly nexthop: string;
    readonly output_port: string;
    readonly selection_fields?: readonly string[];
  },
): DesiredRow {
  return {
    table: 'Logical_Router_Static_Route',
    key: `${router}/${key}`,
    columns: { ...columns, policy: 'dst-ip', route_table: '', external_ids: vendorIds },
    parent: { table: 'Logical_Router', key: router, column: 'static_routes' },
  };
}

/** The two halves of a network: routes to them precede the one to the network that each port brings. */
function halvesOf(cidr: Cidr): readonly Cidr[] {
  if (cidr.prefix === bitsOf(cidr.family)) return [];
  const half = { ...cidr, prefix: cidr.prefix + 1 };
  return [half, { ...half, network: half.network + cidrSize(half) }];
}

/**
 * Routes outside: one for each port, so that connections are distributed. Of several ports in one network OVN would choose an
 * undefined one for hosts of that network, so that these are reached by its router, too.
 */
function exitRows(view: View, { router, served, parts }: ServedGateway): readonly DesiredRow[] {
  const selection = view.capabilities.routeSelection === true ? { selection_fields: selectionFields } : {};
  return parts.flatMap((part) => {
    const { cidr } = part;
    const own = served.filter(({ allocation }) => addressIn(allocation, cidr.family) !== undefined);
    const near = own.length > 1 ? halvesOf(cidr).map(formatCidr) : [];
    return [everything[cidr.family], ...near].flatMap((prefix) =>
      own.map(({ name }) =>
        routeRow(router, `${prefix}/${name}`, {
          ip_prefix: prefix,
          nexthop: gatewayIp(part),
          output_port: name,
          ...selection,
        }),
      ),
    );
  });
}

/** Routes to the sources of packets: the networks of the VPC, and further ones that policies name. */
function returnRows(view: View, gateway: ServedGateway): readonly DesiredRow[] {
  const { far: output } = linkPorts(gateway);
  const outside = new Set(gateway.parts.map(({ cidr }) => formatCidr(cidr)));
  return gateway.link.flatMap(({ family, near }) => {
    const named = gateway.networks.filter((one) => one.family === family).map(({ cidr }) => cidr);
    const all = [...new Set([...ownCidrs(view, gateway.vpc, family), ...named])].filter((cidr) => !outside.has(cidr));
    return all
      .sort()
      .map((prefix) => routeRow(gateway.router, prefix, { ip_prefix: prefix, nexthop: near, output_port: output }));
  });
}

/** The parts of a network without some others. */
export function withoutCidrs(whole: Cidr, others: readonly Cidr[]): readonly Cidr[] {
  const overlapping = others.filter((other) => cidrsOverlap(whole, other));
  if (overlapping.length === 0) return [whole];
  if (overlapping.some((other) => cidrCovers(other, whole))) return [];
  return halvesOf(whole).flatMap((half) => withoutCidrs(half, overlapping));
}

/** The networks whose packets get the address of the gateway. The longest prefix decides; pods that it selects are in the network of all addresses. */
export function translatedOf(
  { networks, hasSelectors }: Pick<ServedGateway, 'networks' | 'hasSelectors'>,
  family: Family,
): readonly string[] {
  const of = (isWanted: boolean): readonly Cidr[] =>
    networks
      .filter((one) => one.family === family && one.isTranslated === isWanted)
      .flatMap(({ cidr }) => parseCidr(cidr) ?? []);
  const whole = hasSelectors ? parseCidr(everything[family]) : undefined;
  const [wanted, kept] = [[...(whole === undefined ? [] : [whole]), ...of(true)], of(false)];
  const parts = wanted.flatMap((cidr) => {
    const longer = kept.filter(({ prefix }) => prefix > cidr.prefix);
    return withoutCidrs(cidr, longer);
  });
  return [...new Set(parts.map(formatCidr))].sort();
}

function translationRows(gateway: ServedGateway): readonly DesiredRow[] {
  const { router, served, parts } = gateway;
  return parts.flatMap(({ cidr: { family } }) => {
    const networks = translatedOf(gateway, family);
    return served.flatMap(({ name, allocation }) => {
      const address = addressIn(allocation, family);
      if (address === undefined) return [];
      return networks.map((network): DesiredRow => ({
        table: 'NAT',
        key: `${name}/${network}`,
        columns: {
          type: 'snat',
          external_ip: address,
          logical_ip: network,
          external_mac: null,
          logical_port: null,
          gateway_port: ref('Logical_Router_Port', name),
          external_ids: vendorIds,
        },
        parent: { table: 'Logical_Router', key: router, column: 'nat' },
      }));
    });
  });
}

/** Matches of the packets that leave by the gateway, by their sources. */
export function sourcesOf(
  { key, networks, hasSelectors }: Pick<ServedGateway, 'key' | 'networks' | 'hasSelectors'>,
  family: Family,
): { readonly pods?: string; readonly networks?: string } {
  const ip = matchFamily(family);
  const own = networks.filter((one) => one.family === family).map(({ cidr }) => cidr);
  return {
    ...(hasSelectors ? { pods: `${ip}.src == $${egressSet(key, family)}` } : {}),
    ...(own.length > 0 ? { networks: `${ip}.src == {${own.join(', ')}}` } : {}),
  };
}

/** Packets of other sources that come over the link, by a route of the VPC, must not leave with an address of the gateway. */
function guardRows(gateway: ServedGateway): readonly DesiredRow[] {
  const { far } = linkPorts(gateway);
  const row = (key: string, columns: DesiredRow['columns']): DesiredRow => ({
    table: 'Logical_Router_Policy',
    key: `${gateway.router}/${key}`,
    columns: { ...columns, external_ids: vendorIds },
    parent: { table: 'Logical_Router', key: gateway.router, column: 'policies' },
  });
  const allowed = gateway.link.flatMap(({ family }: EgressLink) =>
    Object.entries(sourcesOf(gateway, family)).map(([of, match]) =>
      row(`${of}/ipv${family}`, { priority: 2, match, action: 'allow' }),
    ),
  );
  return [...allowed, row('others', { priority: 1, match: `inport == "${far}"`, action: 'drop' })];
}

/** Rows of a gateway that are not on the router of the VPC, and the link to that. */
export function routerRows(view: View, gateway: ServedGateway): readonly DesiredRow[] {
  const router: DesiredRow = {
    table: 'Logical_Router',
    key: gateway.router,
    columns: {
      // As routers of VPCs with a port outside.
      options: {
        mac_binding_age_threshold: '300',
        dynamic_neigh_routers: 'true',
        always_learn_from_arp_request: 'true',
      },
      external_ids: { ...vendorIds, vpc: gateway.vpc },
    },
    shared: ['options'],
  };
  return [
    router,
    ...linkRows(gateway),
    ...gateway.served.flatMap((port) => portRows(gateway, port)),
    ...exitRows(view, gateway),
    ...returnRows(view, gateway),
    ...translationRows(gateway),
    ...guardRows(gateway),
  ];
}
