import type { HolderKind } from './kind.ts';

/**
 * Addresses that an IP object reserves for a port that no pod has. The allocator does not choose them: the object names
 * them.
 */
export const reservationHolder: HolderKind = {
  prefix: 'ip',
  all: (view) => view.ips.keys(),
  concerns: (change) => (change.kind === 'ips' ? [change.name] : []),
};
