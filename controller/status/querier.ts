import { planIps } from '../plan/address/ip-object.ts';
import { querierPort } from '../plan/subnet/multicast.ts';
import { clearIp, writeIp } from './ip-object.ts';
import type { Desk } from './desk.ts';

/** The IP object of the querier of a subnet's switch, which has an address and no port. */
export function publishQuerier(desk: Desk, subnet: string): void {
  const wanted = planIps(desk.view, `mcast/${subnet}`);
  if (wanted.length === 0) clearIp(desk, querierPort(subnet));
  else if (desk.database.hasSwitch(subnet)) for (const ip of wanted) writeIp(desk, ip);
}
