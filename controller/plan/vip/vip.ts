import type { Feature } from '../feature.ts';

/** A Vip: its address is settled by the allocator, and told in its status. */
export const vipFeature: Feature = {
  name: 'vip',
  all: (view) => view.vips.keys(),
  reads(change) {
    if (change.kind === 'vips') return [change.name];
    return change.kind === 'ports' && change.name.startsWith('vip/') ? [change.name.slice('vip/'.length)] : [];
  },
};
