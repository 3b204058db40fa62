import type { HolderKind } from './kind.ts';

/**
 * Addresses that an IP object sets aside for a port that no pod has. They are not asked of the allocator: they are what the
 * object says.
 */
export const reservationHolder: HolderKind = {
  prefix: 'ip',
  all: (view) => view.ips.keys(),
  concerns: (change) => (change.kind === 'ips' ? [change.name] : []),
};
