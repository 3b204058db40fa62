/** IPv6 neighbours and the node's own addresses ↔ rtnetlink(7) messages. Pure. */
import * as wire from '../../lib/netlink/message.ts';
import { formatIp } from '../../lib/net/ip.ts';

export interface NeighborEntry {
  /** Of the link. */
  readonly index: number;
  readonly address: string;
  /** The neighbour announced itself as a router. */
  readonly isRouter: boolean;
  /** The neighbour has a link-layer address and did not fail to respond. */
  readonly isThere: boolean;
}

const AF_INET6 = 10;
const AF_INET = 2;
const IFA_ADDRESS = 1;
const IFA_LOCAL = 2;
/** TENTATIVE, DADFAILED */
const IFA_F_UNREADY = 0x40 | 0x08;
const NDA_DST = 1;
const NTF_ROUTER = 0x80;
/** REACHABLE, STALE, DELAY, PROBE, PERMANENT */
const NUD_THERE = 0x02 | 0x04 | 0x08 | 0x10 | 0x80;
const headerLength = 12;

/** struct ndmsg of a request for all IPv6 neighbours. */
export function neighborsHeader(): Buffer {
  return Buffer.concat([Buffer.from([AF_INET6]), Buffer.alloc(headerLength - 1)]);
}

/** struct ifaddrmsg of a request for all IPv6 addresses. */
export function addressesHeader(): Buffer {
  return wire.addressHeader(AF_INET6, 0, 0, 0);
}

/** struct ifaddrmsg of a request for all addresses of both families. */
export function allAddressesHeader(): Buffer {
  return wire.addressHeader(0, 0, 0, 0);
}

/** One usable address of the node, of either family; otherwise empty. */
export function readAnyAddress(data: Buffer): readonly string[] {
  if (data[0] !== AF_INET) return readOwnAddress(data).flatMap(({ address, isReady }) => (isReady ? [address] : []));
  // On point-to-point links IFA_ADDRESS is the address of the far end.
  const bytes = wire.readAttributes(data.subarray(8)).get(IFA_LOCAL);
  return bytes?.length === 4 ? [bytes.join('.')] : [];
}

export interface OwnAddress {
  /** Of the link. */
  readonly index: number;
  readonly address: string;
  /** Duplicate address detection has passed; before that, the address cannot be used as a source. */
  readonly isReady: boolean;
}

/** One IPv6 address of the node; empty for other families. */
export function readOwnAddress(data: Buffer): readonly OwnAddress[] {
  const bytes = wire.readAttributes(data.subarray(8)).get(IFA_ADDRESS);
  if (data[0] !== AF_INET6 || bytes?.length !== 16) return [];
  return [{ index: wire.readU32(data, 4), address: readIp(bytes), isReady: ((data[2] ?? 0) & IFA_F_UNREADY) === 0 }];
}

/** Empty for other families. */
export function readNeighbor(data: Buffer): readonly NeighborEntry[] {
  const address = wire.readAttributes(data.subarray(headerLength)).get(NDA_DST);
  if (data[0] !== AF_INET6 || address?.length !== 16) return [];
  return [
    {
      index: wire.readU32(data, 4),
      address: readIp(address),
      isRouter: ((data[10] ?? 0) & NTF_ROUTER) !== 0,
      isThere: (wire.readU16(data, 8) & NUD_THERE) !== 0,
    },
  ];
}

function readIp(bytes: Buffer): string {
  return formatIp({ family: 6, value: BigInt(`0x${bytes.toString('hex')}`) });
}
