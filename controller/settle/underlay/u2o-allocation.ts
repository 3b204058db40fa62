import { formatIp, parseIp } from '../../../lib/net/ip.ts';
import type { Ip } from '../../../lib/net/ip.ts';
import { routingOf } from '../../../lib/api/subnet-routing.ts';
import type { Allocation } from '../../ipam/subnet-pool.ts';
import type { SubnetSpec } from '../../model/objects.ts';
import { parseAddresses } from '../address/port-request.ts';
import { notedRouter } from '../subnet/accepted-note.ts';
import type { View } from '../../model/view.ts';

/** The router's allocation beside the physical gateway; undefined while it has none. */
export function u2oAllocation(view: View, subnet: string): Allocation | undefined {
  return view.ports(`u2o/${subnet}`)[0]?.allocation;
}

export function ipsOf({ v4, v6 }: Allocation): readonly Ip[] {
  return [v4, v6].flatMap((text) => (text === undefined ? [] : (parseIp(text) ?? [])));
}

/** Addresses the router had by a Subnet's note, and by its spec is to have no more. */
export function leftByRouter(spec: SubnetSpec, note: string | undefined): readonly Ip[] {
  const noted = notedRouter(note);
  if (routingOf(spec) !== 'u2o') return noted;
  const asked = spec.u2oInterconnectionIP === '' ? [] : (parseAddresses(spec.u2oInterconnectionIP) ?? []);
  return noted.filter((ip) => asked.some((one) => one.family === ip.family && formatIp(one) !== formatIp(ip)));
}
