import type { HolderKind } from './kind.ts';

/**
 * Foreign ports of the northbound database, with the addresses that they use. A pod with one of these addresses would be a
 * second host with it on the wire.
 */
export const foreignPortHolder: HolderKind = {
  prefix: 'row',
  all: () => [],
  concerns: () => [],
};
