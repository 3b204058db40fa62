import { planIps } from '../plan/address/ip-object.ts';
import { querierPortName } from '../../lib/api/names.ts';
import { clearIp, writeIp } from './ip-object.ts';
import type { Desk } from './desk.ts';

/** The IP object of the querier of a subnet's switch, which has an address and no port. */
export function publishQuerier(desk: Desk, subnet: string): void {
  const wanted = planIps(desk.view, `mcast/${subnet}`);
  if (wanted.length === 0) clearIp(desk, querierPortName(subnet));
  else if (desk.database.hasSwitch(subnet)) for (const ip of wanted) writeIp(desk, ip);
}

/** The IP object of what the router of a VPC has in an underlay subnet beside the physical gateway. */
export function publishRouterAddress(desk: Desk, subnet: string): void {
  const { view, database } = desk;
  // Where it is no more, its name is told by the address that became free.
  if (database.hasSwitch(subnet)) for (const ip of planIps(view, `u2o/${subnet}`)) writeIp(desk, ip);
}
