/**
 * How a row is recognised across restarts: by its `name` where OVN or OVS itself looks rows up by name, else by
 * `external_ids:isthmus-key`; a table that never holds more than one row needs neither.
 * Called by the reconciler (lib/desired) and by whoever reads rows back. Must agree with what the databases treat
 * as names: adopting by a name that is only a label would take over a stranger's row.
 */

/** The key of the one row of a singleton table. */
export const singletonKey = '.';

const singletons: ReadonlySet<string> = new Set([
  'NB_Global',
  'SB_Global',
  'IC_NB_Global',
  'IC_SB_Global',
  'Open_vSwitch',
]);

// ACL, Forwarding_Group, Flow_Table and the switch's Mirror have a `name` too, but only as a label that may repeat.
const named: ReadonlySet<string> = new Set([
  'Address_Set',
  'Availability_Zone',
  'Bridge',
  'Chassis',
  'Chassis_Private',
  'Copp',
  'Gateway',
  'Gateway_Chassis',
  'HA_Chassis_Group',
  'Interface',
  'Load_Balancer',
  'Load_Balancer_Group',
  'Logical_Router',
  'Logical_Router_Port',
  'Logical_Switch',
  'Logical_Switch_Port',
  'Meter',
  'Port',
  'Port_Group',
  'Transit_Switch',
]);

/** Whether the table holds one row at most, whose key is `singletonKey`. */
export function isSingleton(table: string): boolean {
  return singletons.has(table);
}

/** The column a row's key is in; undefined means `external_ids:isthmus-key` (or a singleton). */
export function keyColumn(table: string): 'name' | undefined {
  return named.has(table) ? 'name' : undefined;
}
