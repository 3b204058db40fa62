/**
 * Rows of very many clusters in IC-SB, in the form plain `ovn-ic` gives them: a zone, a gateway with its encapsulation, a
 * port on a transit switch, routes. In: their number; out: transactions that insert them, each smaller than 128 KB. Pure.
 */
import type { Operation } from 'ovsdb-client';

export interface ForeignClusters {
  readonly transitSwitch: string;
  /** IPv4 network of the transit switch: addresses are allocated from its end, so that those of members stay free. */
  readonly network: string;
  readonly clusters: number;
  readonly routesEach: number;
}

/** A cluster of ten routes is about four KB. */
const clustersPerTransaction = 20;
/** Above the keys that a hub allocates, below 32,768. */
const firstKey = 20_000;
const namePrefix = 'scale-';
/** `20.0.0.0/8`: the lab has no such prefixes. */
const firstOctet = 20;

/** The prefix of a route, counted over all clusters. */
export function prefixOf(at: number): string {
  return `${String(firstOctet)}.${String(at >> 8)}.${String(at & 255)}.0/24`;
}

export function isForeignPrefix(prefix: string): boolean {
  return prefix.startsWith(`${String(firstOctet)}.`);
}

export function isForeignName(name: string): boolean {
  return name.startsWith(namePrefix);
}

export function insertions(plan: ForeignClusters): Operation[][] {
  const each = Array.from({ length: plan.clusters }, (_, at) => clusterRows(plan, at));
  const transactions: Operation[][] = [];
  for (let at = 0; at < each.length; at += clustersPerTransaction)
    transactions.push(each.slice(at, at + clustersPerTransaction).flat());
  return transactions;
}

function clusterRows(plan: ForeignClusters, at: number): Operation[] {
  const name = `${namePrefix}${String(at)}`;
  const [zone, encap] = [`zone${String(at)}`, `encap${String(at)}`];
  const availability_zone = { named: zone };
  const address = `${macOf(at)} ${nexthopOf(plan, at)}/${plan.network.split('/')[1] ?? ''}`;
  const port = { transit_switch: plan.transitSwitch, availability_zone, logical_port: `${plan.transitSwitch}-${name}` };
  const routes = Array.from({ length: plan.routesEach }, (_, route) =>
    routeRow(plan, at, availability_zone, prefixOf(at * plan.routesEach + route)),
  );
  return [
    { op: 'insert', table: 'Availability_Zone', uuidName: zone, row: { name } },
    {
      op: 'insert',
      table: 'Encap',
      uuidName: encap,
      row: { type: 'geneve', ip: underlayOf(at), gateway_name: name, options: { csum: 'true' } },
    },
    {
      op: 'insert',
      table: 'Gateway',
      row: { name, hostname: name, availability_zone, encaps: [{ named: encap }] },
    },
    { op: 'insert', table: 'Port_Binding', row: { ...port, gateway: name, address, tunnel_key: firstKey + at } },
    ...routes,
  ];
}

/** One route of a cluster; `zone` is its Availability_Zone, by uuid once that is there. */
export function routeRow(
  plan: ForeignClusters,
  at: number,
  zone: string | { readonly named: string },
  prefix: string,
): Operation {
  const nexthop = nexthopOf(plan, at);
  const row = { transit_switch: plan.transitSwitch, availability_zone: zone, ip_prefix: prefix, nexthop };
  return { op: 'insert', table: 'Route', row: { ...row, route_table: '', origin: 'connected' } };
}

/** Counted down from the broadcast address. */
export function nexthopOf({ network }: ForeignClusters, at: number): string {
  const [base = '', length = ''] = network.split('/');
  const first = base.split('.').reduce((value, octet) => value * 256 + Number(octet), 0);
  const address = first + 2 ** (32 - Number(length)) - 2 - at;
  return [24, 16, 8, 0].map((shift) => String(Math.floor(address / 2 ** shift) % 256)).join('.');
}

function underlayOf(at: number): string {
  return `10.200.${String(at >> 8)}.${String(at & 255)}`;
}

function macOf(at: number): string {
  const byte = (value: number): string => value.toString(16).padStart(2, '0');
  return `0a:00:c8:00:${byte(at >> 8)}:${byte(at & 255)}`;
}
