/** The two databases of OVN and the addresses of their servers. Pure: addresses of nodes in, OVSDB remotes out. */
import { formatIp, parseIp } from '../../lib/net/ip.ts';

export const databaseNames = ['nb', 'sb'] as const;
export type DatabaseName = (typeof databaseNames)[number];

/** A value for each database. */
export type Both<T> = Readonly<Record<DatabaseName, T>>;

export type Scheme = 'ssl' | 'tcp';

/** Names in the schemas. */
export const schemaNames: Both<string> = { nb: 'OVN_Northbound', sb: 'OVN_Southbound' };
const clientPorts: Both<number> = { nb: 6641, sb: 6642 };
const raftPorts: Both<number> = { nb: 6643, sb: 6644 };
/** Chassis have restricted rights, which a separate server enforces; that server needs certificates. */
const chassisPorts: Readonly<Record<Scheme, number>> = { ssl: 16642, tcp: 6642 };

export function both<T>(make: (name: DatabaseName) => T): Both<T> {
  return { nb: make('nb'), sb: make('sb') };
}

/** An address of a node in canonical form; undefined if the text is not an address. Only canonical addresses are written to instructions. */
export function nodeAddress(text: string): string | undefined {
  const ip = parseIp(text);
  return ip === undefined ? undefined : formatIp(ip);
}

/** The address at which the other servers reach the server of a database. */
export function raftAddress(scheme: Scheme, name: DatabaseName, address: string): string {
  return remote(scheme, address, raftPorts[name]);
}

/** The remote at which clients reach the server of a database. */
export function clientRemote(scheme: Scheme, name: DatabaseName, address: string): string {
  return remote(scheme, address, clientPorts[name]);
}

/** The remote at which ovn-controller reaches the southbound database. */
export function chassisRemote(scheme: Scheme, address: string): string {
  return remote(scheme, address, chassisPorts[scheme]);
}

function remote(scheme: Scheme, address: string, port: number): string {
  return `${scheme}:${address.includes(':') ? `[${address}]` : address}:${port}`;
}
