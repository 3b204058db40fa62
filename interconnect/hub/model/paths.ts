/** Names and networks of the paths of a transit switch. Pure. */
import { specialUse } from '../../../lib/net/special-use.ts';
import { bitsOf } from '../../../lib/net/ip.ts';
import { cidrSize, formatCidr, hasHostBits, parseCidr, type Cidr } from '../../../lib/net/cidr.ts';
import { mostPaths, switchNames } from '../../model/path-names.ts';

/** A path takes an eighth of the network, whatever their number: more paths later change no address. */
const pathBits = 3;

/** So that two members find room on each path. */
const leastHostBits = 2 + pathBits;

/** Which path of `network` the switch is; undefined if it is none. */
export function pathIndex(network: string, pathSwitch: string): number | undefined {
  const index = switchNames(network).indexOf(pathSwitch);
  return index < 0 ? undefined : index;
}

export function pathCidr(network: string, index: number): string {
  const cidr = parsedCidr(network);
  const size = cidrSize(cidr) >> BigInt(pathBits);
  return formatCidr({ ...cidr, network: cidr.network + BigInt(index) * size, prefix: cidr.prefix + pathBits });
}

/** The network of the transit switch that the path `index` with this network is of; undefined if there is none. */
export function networkOfPath(pathNetwork: string, index: number): string | undefined {
  const path = parseCidr(pathNetwork);
  if (path === undefined || path.prefix < pathBits) return undefined;
  const network = path.network - BigInt(index) * cidrSize(path);
  if (network < 0n) return undefined;
  const text = formatCidr({ ...path, network, prefix: path.prefix - pathBits });
  return parseCidr(text)?.network === network ? text : undefined;
}

/** The networks as they are written from now on, or a sentence why they will not do. */
export function checkCidrs(texts: readonly string[]): readonly string[] | string {
  const cidrs: Cidr[] = [];
  for (const text of texts) {
    const cidr = parseCidr(text);
    if (cidr === undefined) return `"${text}" is not a network; write for example 100.100.0.0/16`;
    if (hasHostBits(text)) return `"${text}" has bits beyond its mask; write ${formatCidr(cidr)}`;
    const special = specialUse(cidr);
    if (special !== undefined) return `${text} holds addresses for ${special}`;
    const longest = bitsOf(cidr.family) - leastHostBits;
    if (cidr.prefix > longest)
      return `${text} is too small: each of ${mostPaths} paths takes an eighth and needs room for two members, so that /${longest} is the least`;
    if (cidrs.some(({ family }) => family === cidr.family))
      return `${texts.join(',')} has two networks of one IP family; give one per family`;
    cidrs.push(cidr);
  }
  return cidrs.map(formatCidr);
}

function parsedCidr(text: string): Cidr {
  const cidr = parseCidr(text);
  if (cidr === undefined) throw new RangeError(`"${text}" is not a CIDR`);
  return cidr;
}
