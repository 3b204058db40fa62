/** IP objects, and events about addresses: the parts of a report that all owners of ports have in common. */
import type { ObjectReport, Outcome, WantedEvent } from '../report.ts';
import { refusalOf } from '../report.ts';
import { failure } from '../events.ts';
import { withoutFormer } from '../finalizers.ts';
import type { HeldPort, View } from '../../model/view.ts';
import { isOwnIp } from '../../settle/address/own-ip.ts';
import { serviceAllocation } from '../../settle/node/join.ts';
import { planIps } from './ip-object.ts';
import { portAddresses } from './texts.ts';

/** The addresses of a port of an object, as its row has them. A node's port has its service address, too. */
function rowAddresses(view: View, key: string, { allocation }: HeldPort): string {
  const isNode = key.startsWith('node/');
  return portAddresses(allocation, isNode ? serviceAllocation(view, key.slice('node/'.length)) : undefined);
}

/** Whether all ports of an object are in the database with their addresses. */
export function hasAllPorts(view: View, key: string, { rows }: Outcome): boolean {
  return view.ports(key).every((held) => rows.hasPort(held.port, rowAddresses(view, key, held)));
}

/** IP objects of an object's ports, once the ports are in the database. Those of ports it lost are reported by the key of the port. */
export function reportIps(view: View, key: string, { rows }: Outcome): readonly ObjectReport[] {
  // The addresses of a pod that is gone are only kept: without its IP object, a restart would forget whose they are.
  const isKept = key.startsWith('pod/') && !view.pods.has(key.slice('pod/'.length));
  const held = new Map(view.ports(key).map((one) => [one.port, rowAddresses(view, key, one)]));
  return planIps(view, key).filter(({ object: { name } }) => isKept || rows.hasPort(name, held.get(name)));
}

/** The IP object of a port: deleted once no owner has its addresses and the database has forgotten the port. */
export function reportReleased(view: View, port: string, { rows }: Outcome): ObjectReport {
  const object = { kind: 'ips', name: port } as const;
  const ip = view.ips.get(port);
  if (ip === undefined) return { object };
  const finalizers = withoutFormer(ip.finalizers);
  if (ip.isDeleting && finalizers.length < ip.finalizers.length) return { object, finalizers };
  const isReleased = isOwnIp(ip) && !view.isAllocated(port) && !rows.hasPort(port);
  return isReleased ? { object, presence: 'forbidden' } : { object };
}

/** Why an object has no address, or else why the database refused its port. */
export function addressEvents(view: View, key: string, outcome: Outcome): readonly WantedEvent[] {
  const problem = view.addressProblem(key);
  const refusal = refusalOf(outcome);
  if (problem !== undefined) return [failure('AcquireAddressFailed', problem)];
  return refusal === undefined ? [] : [failure('CreateOVNPortFailed', refusal)];
}
