/** Router advertisements and solicitations, by which routers and hosts on a link find each other (RFC 4861 §4.1, §4.2). */
import { endianness } from 'node:os';
import { macBytes, u32 } from '../../lib/netlink/message.ts';
import { close, libc, openDescriptor, systemError } from './libc.ts';

const AF_INET6 = 10;
const SOCK_RAW = 3;
const SOCK_CLOEXEC = 0o2000000;
const SOCK_NONBLOCK = 0o4000;
const IPPROTO_IPV6 = 41;
const IPPROTO_ICMPV6 = 58;
const IPV6_MULTICAST_HOPS = 18;
const IPV6_MULTICAST_LOOP = 19;
/** Receivers drop messages with a lower hop limit, because a router has forwarded them. */
const hopLimit = 255;
const sourceLinkLayerAddress = 1;

const setsockopt = libc.func('int setsockopt(int fd, int level, int name, const void *value, uint32_t length)') as (
  fd: number,
  level: number,
  name: number,
  value: Buffer,
  length: number,
) => number;
const sendto = libc.func(
  'intptr_t sendto(int fd, const void *data, size_t length, int flags, const void *to, uint32_t toLength)',
) as (fd: number, data: Buffer, length: number, flags: number, to: Buffer, toLength: number) => number;

export interface LinkEnd {
  /** Index of the link. */
  readonly index: number;
  readonly mac: string;
}

/** Sends a router advertisement to all nodes of the link, with lifetime 0: this node is not a default router. @throws Error with a code */
export function sendRouterAdvertisement(end: LinkEnd): void {
  const [lifetime, reachableTime, retransmit] = [Buffer.alloc(2), Buffer.alloc(4), Buffer.alloc(4)];
  const header = Buffer.from([134, 0, 0, 0, 0, 0]);
  send(end, allNodes, Buffer.concat([header, lifetime, reachableTime, retransmit, linkLayerOption(end)]));
}

/** Asks the routers of the link for an advertisement at once. @throws Error with a code */
export function sendRouterSolicitation(end: LinkEnd): void {
  send(end, allRouters, Buffer.concat([Buffer.from([133, 0, 0, 0, 0, 0, 0, 0]), linkLayerOption(end)]));
}

const allNodes = 1;
const allRouters = 2;

function linkLayerOption({ mac }: LinkEnd): Buffer {
  return Buffer.concat([Buffer.from([sourceLinkLayerAddress, 1]), macBytes(mac)]);
}

/** The kernel computes the checksum. */
function send({ index }: LinkEnd, group: number, message: Buffer): void {
  const fd = openDescriptor(AF_INET6, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_ICMPV6);
  try {
    set(fd, IPV6_MULTICAST_HOPS, hopLimit);
    // Otherwise the kernel would take itself for a neighbour.
    set(fd, IPV6_MULTICAST_LOOP, 0);
    const to = groupAddress(group, index);
    if (sendto(fd, message, message.length, 0, to, to.length) < 0) throw systemError('sendto');
  } finally {
    close(fd);
  }
}

function set(fd: number, option: number, value: number): void {
  if (setsockopt(fd, IPPROTO_IPV6, option, u32(value), 4) !== 0) throw systemError('setsockopt');
}

/** struct sockaddr_in6 of ff02::<group> on the link. */
function groupAddress(group: number, index: number): Buffer {
  const family = endianness() === 'LE' ? [AF_INET6, 0] : [0, AF_INET6];
  const address = [0xff, 0x02, ...Array.from({ length: 13 }, () => 0), group];
  return Buffer.concat([Buffer.from([...family, 0, 0, 0, 0, 0, 0, ...address]), u32(index)]);
}
