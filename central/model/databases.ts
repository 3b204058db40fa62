/** The two databases of OVN, and where their servers are reached. Pure: addresses of nodes in, remotes of OVSDB out. */
import { formatIp, parseIp } from '../../lib/net/ip.ts';

export const databaseNames = ['nb', 'sb'] as const;
export type DatabaseName = (typeof databaseNames)[number];

/** A value for each database. */
export type Both<T> = Readonly<Record<DatabaseName, T>>;

export type Scheme = 'ssl' | 'tcp';

/** As the schemas name them. */
export const schemaNames: Both<string> = { nb: 'OVN_Northbound', sb: 'OVN_Southbound' };
const clientPorts: Both<number> = { nb: 6641, sb: 6642 };
const raftPorts: Both<number> = { nb: 6643, sb: 6644 };
/** Chassis have rights of their own, given by a server of their own, which needs certificates. */
const chassisPorts: Readonly<Record<Scheme, number>> = { ssl: 16642, tcp: 6642 };

export function both<T>(make: (name: DatabaseName) => T): Both<T> {
  return { nb: make('nb'), sb: make('sb') };
}

/** An address of a node in its one spelling; undefined where it is none. Only such come into instructions. */
export function nodeAddress(text: string): string | undefined {
  const ip = parseIp(text);
  return ip === undefined ? undefined : formatIp(ip);
}

/** Where the server of a database on a node is reached by the other servers. */
export function raftAddress(scheme: Scheme, name: DatabaseName, address: string): string {
  return remote(scheme, address, raftPorts[name]);
}

/** Where the server of a database on a node is reached by its clients. */
export function clientRemote(scheme: Scheme, name: DatabaseName, address: string): string {
  return remote(scheme, address, clientPorts[name]);
}

/** Where ovn-controller reaches the southbound database. */
export function chassisRemote(scheme: Scheme, address: string): string {
  return remote(scheme, address, chassisPorts[scheme]);
}

function remote(scheme: Scheme, address: string, port: number): string {
  return `${scheme}:${address.includes(':') ? `[${address}]` : address}:${port}`;
}
