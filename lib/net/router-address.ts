/** Addresses that no router can be reached at, and none takes for a next hop: RFC 6890, RFC 5771, RFC 4291, RFC 4271 §6.3. Pure. */
import { cidrContains, parseCidr } from './cidr.ts';
import type { Ip } from './ip.ts';

const uses = [
  ['0.0.0.0/8', 'an address of "this host"'],
  ['127.0.0.0/8', 'a loopback address'],
  ['224.0.0.0/4', 'a multicast address'],
  ['255.255.255.255/32', 'the broadcast address'],
  ['240.0.0.0/4', 'a reserved address'],
  ['::/128', 'the unspecified address'],
  ['::1/128', 'a loopback address'],
  ['::/96', 'an IPv4 address as IPv6'],
  ['::ffff:0:0/96', 'an IPv4 address as IPv6'],
  ['fe80::/10', 'a link-local address'],
  ['ff00::/8', 'a multicast address'],
].flatMap(([text = '', use = '']) => {
  const cidr = parseCidr(text);
  return cidr === undefined ? [] : [{ cidr, use }];
});

/** What such an address is; undefined for one that a router may have. 169.254.0.0/16 is used between routers. */
export function unusableAs(ip: Ip): string | undefined {
  return uses.find(({ cidr }) => cidrContains(cidr, ip))?.use;
}
