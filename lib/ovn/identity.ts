/**
 * Identity of a row across restarts: its `name` if OVN or OVS itself looks rows up by name, else
 * `external_ids:isthmus-key`. A table with at most one row needs neither.
 * Called by the reconciler (lib/desired) and by readers of rows. Must agree with the names of the databases:
 * adoption by a name that is only a label would take over another product's row.
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

/** Whether the table holds at most one row, whose key is `singletonKey`. */
export function isSingleton(table: string): boolean {
  return singletons.has(table);
}

/** The column a row's key is in; undefined means `external_ids:isthmus-key` (or a singleton). */
export function keyColumn(table: string): 'name' | undefined {
  return named.has(table) ? 'name' : undefined;
}
