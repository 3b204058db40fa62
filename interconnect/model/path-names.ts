/** Names of the paths of a transit switch, on which hub and agents agree. Pure. */

/** A transit switch never has more. */
export const mostPaths = 8;

/** The logical switch of a path: `ts`, `ts1`, `ts2` … */
export function switchName(network: string, index: number): string {
  return index === 0 ? network : `${network}${index}`;
}

/** All switches a network may ever have, in the order of its paths. */
export function switchNames(network: string): readonly string[] {
  return Array.from({ length: mostPaths }, (_, index) => switchName(network, index));
}
