import type { Desired } from '../../../lib/desired/row.ts';
import { nodeAddressSet } from '../../model/ovn-names.ts';
import type { Feature } from '../feature.ts';
import { vendorIds } from '../names.ts';

/** The address sets of all nodes, to which the plan of each node contributes. */
function planAddressSets(): Desired {
  const rows = ([4, 6] as const).map((family) => ({
    table: 'Address_Set',
    key: nodeAddressSet(family),
    columns: { external_ids: vendorIds },
    collects: ['addresses'],
  }));
  return { rows };
}

/** One key, `all`. */
export const nodeAddressesFeature: Feature = {
  name: 'node-addresses',
  all: () => ['all'],
  reads: () => [],
  plan: planAddressSets,
};
