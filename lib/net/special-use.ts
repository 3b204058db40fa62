/** Prefixes that must not be announced to a router: RFC 6890, RFC 5771, RFC 4291. Pure. */
import { cidrsOverlap, parseCidr, type Cidr } from './cidr.ts';

const uses = [
  ['0.0.0.0/8', 'this host'],
  ['127.0.0.0/8', 'loopback'],
  ['169.254.0.0/16', 'one link'],
  ['224.0.0.0/4', 'multicast'],
  ['240.0.0.0/4', 'nobody'],
  ['::/127', 'this host'],
  ['::ffff:0:0/96', 'IPv4 inside of one host'],
  ['fe80::/10', 'one link'],
  ['ff00::/8', 'multicast'],
].flatMap(([text = '', use = '']) => {
  const cidr = parseCidr(text);
  return cidr === undefined ? [] : [{ cidr, use }];
});

/** The special use of some of the addresses, other than traffic between networks; undefined if all are ordinary. */
export function specialUse(cidr: Cidr): string | undefined {
  if (cidr.prefix === 0) return 'everything';
  return uses.find((one) => cidrsOverlap(one.cidr, cidr))?.use;
}
