/** The rows of a port in the local OVS database, common to all our ports. Pure. */
import { integrationBridge, vendor } from '../../lib/api/names.ts';
import { ref, type Desired, type DesiredRow } from '../../lib/desired/row.ts';

/** A port of a bridge, by default of the integration bridge, with one interface of the same name. */
export function portRows(
  name: string,
  columns: Readonly<Record<string, string | number>>,
  externalIds: Readonly<Record<string, string>>,
  portColumns: DesiredRow['columns'] = {},
  bridge: string = integrationBridge,
): Desired['rows'] {
  return [
    {
      table: 'Port',
      key: name,
      parent: { table: 'Bridge', key: bridge, column: 'ports' },
      columns: { interfaces: [ref('Interface', name)], ...portColumns, external_ids: { vendor } },
      shared: ['external_ids'],
    },
    // ovn-controller writes ovn-installed into the same column.
    {
      table: 'Interface',
      key: name,
      columns: { ...columns, external_ids: { ...externalIds, vendor } },
      shared: ['external_ids'],
    },
  ];
}
