/**
 * Zones that run plain ovn-ic, from the rows their own ovn-ic wrote. In: the cache of IC-SB and its changes. Out: which
 * zones changed, and a zone as the members are shown it. A change costs its zone, however many there are.
 */
import type { Cache, Change, Row } from 'ovsdb-client';
import { formatCidr, parseCidr } from '../../../lib/net/cidr.ts';
import type { NextHop, Port, Route } from '../../model/messages.ts';
import { integerOf, textOf } from '../../../lib/ovn/columns.ts';
import type { ForeignMember } from '../model/record.ts';
import { gatewayOf, isOurs } from './databases.ts';

export interface ForeignOptions {
  readonly southbound: Cache;
  /** Whether the zone of this name is one of our members. */
  readonly isMember: (name: string) => boolean;
  /** The network that a switch is a path of. */
  readonly networkOf: (pathSwitch: string) => string | undefined;
}

export class ForeignZones {
  readonly #options: ForeignOptions;
  /** Names of zones by uuid, kept for rows that are gone. */
  readonly #names = new Map<string, string>();

  constructor(options: ForeignOptions) {
    this.#options = options;
    for (const [uuid, row] of options.southbound.table('Availability_Zone').rows)
      this.#names.set(uuid, textOf(row, 'name'));
  }

  names(): readonly string[] {
    return [...this.#names.values()].filter((name) => !this.#options.isMember(name));
  }

  has(name: string): boolean {
    const rows = this.#options.southbound.table('Availability_Zone').byIndex(['name'], [name]);
    return rows.length > 0 && !this.#options.isMember(name);
  }

  /** Names of the zones these changes are about. */
  touched(changes: readonly Change[]): ReadonlySet<string> {
    const touched = new Set<string>();
    for (const { table, uuid, before, after } of changes) {
      const known = this.#names.get(uuid);
      if (table === 'Availability_Zone') {
        if (known !== undefined) touched.add(known);
        if (after === undefined) this.#names.delete(uuid);
        else this.#names.set(uuid, textOf(after, 'name'));
      }
      for (const row of [before, after]) {
        const name = row === undefined ? undefined : this.#zoneOf(table, row);
        if (name !== undefined) touched.add(name);
      }
    }
    for (const name of touched) if (this.#options.isMember(name)) touched.delete(name);
    return touched;
  }

  /** Undefined if there is no such zone, or it is one of our members. */
  read(name: string): ForeignMember | undefined {
    const { southbound, isMember, networkOf } = this.#options;
    const [zone] = southbound.table('Availability_Zone').byIndex(['name'], [name]);
    if (zone === undefined || isMember(name)) return undefined;
    const rowsOf = (table: string): readonly Row[] =>
      southbound.table(table).byIndex(['availability_zone'], [zone._uuid]);
    const gateways = rowsOf('Gateway')
      .filter((row) => !isOurs(row))
      .map((row) => gatewayOf(southbound, row))
      .sort((a, b) => (a.chassis < b.chassis ? -1 : 1));
    const ports = rowsOf('Port_Binding')
      .map(portOf)
      .sort((a, b) => (a.logicalPort < b.logicalPort ? -1 : 1));
    const routes = routesOf(name, rowsOf('Route'), networkOf);
    return { name, foreign: true, connected: true, lastSeenMs: 0, gateways, ports, routes };
  }

  #zoneOf(table: string, row: Row): string | undefined {
    if (table === 'Availability_Zone') return textOf(row, 'name');
    if (table === 'Encap') {
      const [gateway] = this.#options.southbound.table('Gateway').byIndex(['name'], [textOf(row, 'gateway_name')]);
      return gateway === undefined ? undefined : this.#names.get(textOf(gateway, 'availability_zone'));
    }
    return this.#names.get(textOf(row, 'availability_zone'));
  }
}

/** Plain ovn-ic has no order of gateways: one chassis holds the port. */
function portOf(row: Row): Port {
  const [mac = '', ...networks] = textOf(row, 'address').split(' ');
  const holder = textOf(row, 'gateway');
  return {
    switch: textOf(row, 'transit_switch'),
    logicalPort: textOf(row, 'logical_port'),
    mac,
    networks,
    tunnelKey: integerOf(row, 'tunnel_key'),
    gateways: holder === '' ? [] : [holder],
    holder,
    draining: false,
  };
}

/** A row for each next hop. ovn-ic stores prefixes as the port has them ("10.0.2.1/24"): normalised here. */
function routesOf(name: string, rows: readonly Row[], networkOf: ForeignOptions['networkOf']): readonly Route[] {
  const routes = new Map<string, Route & { readonly nextHops: NextHop[] }>();
  for (const row of rows) {
    const cidr = parseCidr(textOf(row, 'ip_prefix'));
    // Routes of other route tables belong to other routers of that zone.
    if (cidr === undefined || textOf(row, 'route_table') !== '') continue;
    const pathSwitch = textOf(row, 'transit_switch');
    const transitSwitch = networkOf(pathSwitch) ?? pathSwitch;
    const prefix = formatCidr(cidr);
    const key = `${transitSwitch} ${prefix}`;
    const known = routes.get(key);
    const nextHop = { switch: pathSwitch, address: textOf(row, 'nexthop') };
    if (known !== undefined) known.nextHops.push(nextHop);
    else
      routes.set(key, {
        transitSwitch,
        prefix,
        origin: textOf(row, 'origin'),
        tags: [],
        via: [name],
        nextHops: [nextHop],
      });
  }
  for (const { nextHops } of routes.values()) nextHops.sort((a, b) => (a.switch < b.switch ? -1 : 1));
  return [...routes.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, route]) => route);
}
