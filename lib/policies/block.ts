/** The networks of an ipBlock. Its exceptions are subtracted, because a match with `!=` makes OVN expand each combination. */
import { cidrContains, cidrCovers, formatCidr, lastOf, parseCidr, type Cidr } from '../net/cidr.ts';
import { IntervalSet } from '../net/interval-set.ts';
import { cidrsOf } from '../net/range.ts';
import { parseIp, type Family } from '../net/ip.ts';
import type { BlockPeer } from './policy.ts';

/** Each exception may split a block into as many networks as an address has bits. */
const mostExceptions = 256;
export const mostNetworks = 10_000;

/** Without exceptions that lie outside of the block; nothing if a part is not a CIDR, or if there are too many. */
function networksOf({ cidr: text, except }: BlockPeer): readonly Cidr[] {
  if (except.length > mostExceptions) return [];
  const cidr = parseCidr(text);
  const holes = except.map(parseCidr);
  if (cidr === undefined || holes.includes(undefined)) return [];
  const rest = IntervalSet.of(cidr.network, lastOf(cidr));
  for (const hole of holes) {
    if (hole === undefined || hole.family !== cidr.family) continue;
    if (cidrCovers(hole, cidr)) return [];
    if (cidrCovers(cidr, hole)) rest.remove(hole.network, lastOf(hole));
  }
  return rest.intervals().flatMap(({ first, last }) => cidrsOf({ family: cidr.family, first, last }));
}

interface Networks {
  readonly byFamily: Readonly<Record<Family, readonly string[]>>;
  readonly isTooMany: boolean;
}

/** A rule is looked at for each family, VPC and port. */
const known = new WeakMap<readonly BlockPeer[], Networks>();

function allNetworks(blocks: readonly BlockPeer[]): Networks {
  let networks = known.get(blocks);
  if (networks === undefined) {
    const all: Cidr[] = [];
    let isTooMany = false;
    for (const block of blocks) {
      if (all.length > mostNetworks) break;
      isTooMany ||= block.except.length > mostExceptions;
      all.push(...networksOf(block));
    }
    if (all.length > mostNetworks) isTooMany = true;
    const of = (family: Family): readonly string[] =>
      all.length > mostNetworks
        ? []
        : [...new Set(all.filter((cidr) => cidr.family === family).map(formatCidr))].sort();
    networks = { byFamily: { 4: of(4), 6: of(6) }, isTooMany };
    known.set(blocks, networks);
  }
  return networks;
}

/** Of a NetworkPolicy, whose rules allow what their blocks contain. */
export const tooManyNetworks = `its ipBlocks have too many exceptions or networks, and allow nothing: at most ${mostExceptions} exceptions each, and ${mostNetworks} networks after the exceptions are subtracted`;

const noBlocks: readonly BlockPeer[] = [];

/** All networks of one family that the blocks of a rule contain, as texts; none if they are too many. */
export function blockNetworks(blocks: readonly BlockPeer[] = noBlocks, family: Family): readonly string[] {
  return allNetworks(blocks).byFamily[family];
}

/** Whether the blocks of a rule contain an address, within the same limits. */
export function blocksContain(blocks: readonly BlockPeer[] = noBlocks, address: string): boolean {
  const ip = parseIp(address);
  if (ip === undefined || !hasTooManyNetworks(blocks)) return blocks.some((block) => isInBlock(block, address));
  return blockNetworks(blocks, ip.family).some((network) => contains(network, address));
}

function contains(block: string, address: string): boolean {
  const [cidr, ip] = [parseCidr(block), parseIp(address)];
  return cidr !== undefined && ip !== undefined && cidrContains(cidr, ip);
}

/** Whether one block contains an address. */
export function isInBlock({ cidr, except }: BlockPeer, address: string): boolean {
  return contains(cidr, address) && !except.some((one) => contains(one, address));
}

/** Whether a block has too many exceptions, or all of them too many networks. */
export function hasTooManyNetworks(blocks: readonly BlockPeer[] = noBlocks): boolean {
  return allNetworks(blocks).isTooMany;
}
