/** Names and networks of the paths of a transit switch. Pure. */
import { specialUse } from '../../../lib/net/special-use.ts';
import { bitsOf } from '../../../lib/net/ip.ts';
import { cidrSize, formatCidr, hasHostBits, parseCidr, type Cidr } from '../../../lib/net/cidr.ts';
import { mostPaths, switchName, switchNames } from '../../model/path-names.ts';
import type { NetworkDefinition, NetworkPath } from '../model/record.ts';
import { firstGlobalKey, lastGlobalKey } from './allocation.ts';

/** A path takes an eighth of the network, whatever their number: more of them later move nobody. */
const pathBits = 3;
/** So that two members find room on each path. */
const leastHostBits = 2 + pathBits;

/** Which path of `network` the switch is; undefined where it is none. */
export function pathIndex(network: string, pathSwitch: string): number | undefined {
  const index = switchNames(network).indexOf(pathSwitch);
  return index < 0 ? undefined : index;
}

export function pathCidr(network: string, index: number): string {
  const cidr = parsedCidr(network);
  const size = cidrSize(cidr) >> BigInt(pathBits);
  return formatCidr({ ...cidr, network: cidr.network + BigInt(index) * size, prefix: cidr.prefix + pathBits });
}

/** Of a path's network, that of the transit switch. Undefined where the one cannot be the path `index` of any. */
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
    if (cidr === undefined) return `"${text}" is no network; write for example 100.100.0.0/16`;
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

export interface PathKeys {
  /** The key to try first for path 0, where that does not follow from the name. */
  readonly first: number | undefined;
  /** Of the datapath that a switch has. */
  found(pathSwitch: string): number | undefined;
  isTaken(key: number): boolean;
}

/**
 * The paths of a network: those it is to have and those that are there and go. Keys are kept; new ones follow from the
 * name of the switch alone where they are free, so that a hub that lost everything finds the same.
 */
export function planPaths(
  definition: NetworkDefinition,
  present: readonly NetworkPath[],
  keys: PathKeys,
): readonly NetworkPath[] {
  const paths: NetworkPath[] = [];
  for (let index = 0; index < mostPaths; index += 1) {
    const known = present.find((path) => path.index === index);
    const retiring = index >= definition.paths;
    if (known === undefined && retiring) continue;
    const name = switchName(definition.name, index);
    const isTaken = (key: number): boolean => keys.isTaken(key) || paths.some(({ tunnelKey }) => tunnelKey === key);
    const wanted = keys.first === undefined ? hashed(name) : keys.first + index;
    const tunnelKey = keys.found(name) ?? known?.tunnelKey ?? freeKey(wanted, isTaken);
    const cidrs = definition.cidrs.map((cidr) => pathCidr(cidr, index));
    paths.push({ network: definition.name, index, switch: name, cidrs, tunnelKey, retiring });
  }
  return paths;
}

function freeKey(wanted: number, isTaken: (key: number) => boolean): number {
  const size = lastGlobalKey - firstGlobalKey + 1;
  for (let step = 0; step < size; step += 1) {
    const key = firstGlobalKey + ((wanted - firstGlobalKey + step) % size);
    if (!isTaken(key)) return key;
  }
  throw new RangeError(`all ${size} keys of datapaths that span clusters are taken`);
}

/** FNV-1a into the global range, past the keys of the hub's own network. */
function hashed(text: string): number {
  let hash = 2166136261;
  for (const byte of text) hash = Math.imul(hash ^ byte.charCodeAt(0), 16777619) >>> 0;
  return firstGlobalKey + mostPaths + (hash % (lastGlobalKey - firstGlobalKey - mostPaths));
}

function parsedCidr(text: string): Cidr {
  const cidr = parseCidr(text);
  if (cidr === undefined) throw new RangeError(`"${text}" is no CIDR`);
  return cidr;
}
