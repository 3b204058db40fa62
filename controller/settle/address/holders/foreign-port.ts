import type { HolderKind } from './kind.ts';

/**
 * Ports of the northbound database that this room did not make, with what they use. A pod that were given one of their addresses
 * would be a second one on the wire.
 */
export const foreignPortHolder: HolderKind = {
  prefix: 'row',
  all: () => [],
  concerns: () => [],
};
