/** Names and networks of the paths of a transit switch. Pure. */
import { pathCidr } from '../model/paths.ts';
import { mostPaths, switchName } from '../../model/path-names.ts';
import type { NetworkDefinition, NetworkPath } from '../model/record.ts';
import { firstGlobalKey, lastGlobalKey } from './allocation.ts';

export interface PathKeys {
  /** The key to try first for path 0, where that does not follow from the name. */
  readonly first: number | undefined;
  /** Key of the datapath that a switch has. */
  found(pathSwitch: string): number | undefined;
  isTaken(key: number): boolean;
}

/**
 * The paths of a network: those it is to have and those that are there and go. Keys are kept; new ones follow from the
 * name of the switch alone where they are free, so that a hub that lost everything finds the same.
 */
export function settlePaths(
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
  throw new RangeError(`all ${size} keys of datapaths that span clusters are in use`);
}

/** FNV-1a into the global range, past the keys of the hub's own network. */
function hashed(text: string): number {
  let hash = 2166136261;
  for (const byte of text) hash = Math.imul(hash ^ byte.charCodeAt(0), 16777619) >>> 0;
  return firstGlobalKey + mostPaths + (hash % (lastGlobalKey - firstGlobalKey - mostPaths));
}
