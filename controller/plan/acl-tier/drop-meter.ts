/**
 * The meter of the samples of dropped packets, which `daemon/ovs/packet-ins.ts` receives. OVN applies it to each ACL on each node apart: a flood that one ACL drops hides no
 * samples of another.
 */
import { ref } from '../../../lib/desired/row.ts';
import type { DesiredRow } from '../../../lib/desired/row.ts';
import { vendorIds } from '../names.ts';

export const dropMeter = 'isthmus-policy-drops';
/** Packets in a second, and at once. */
const [rate, burst] = [5, 10];

export function dropMeterRows(): readonly DesiredRow[] {
  return [
    {
      table: 'Meter',
      key: dropMeter,
      columns: { unit: 'pktps', fair: true, bands: [ref('Meter_Band', dropMeter)], external_ids: vendorIds },
    },
    {
      table: 'Meter_Band',
      key: dropMeter,
      columns: { action: 'drop', rate, burst_size: burst, external_ids: vendorIds },
    },
  ];
}
