/**
 * Gateways that were replaced. A running pod keeps its default route, so its gateway stays on the router, beside the
 * new one, until the last pod that may have been configured with it is gone. They are stored in the note on the Subnet
 * rather than in annotations of pods, which the authors of pods can write.
 */
import { cidrContains } from '../../../lib/net/cidr.ts';
import { formatIp } from '../../../lib/net/ip.ts';
import type { Family, Ip } from '../../../lib/net/ip.ts';
import type { FamilyNet } from '../../ipam/family-pool.ts';
import type { SubnetNet } from '../../ipam/subnet-pool.ts';
import type { Pod, Subnet } from '../../model/objects.ts';
import type { View } from '../../model/view.ts';
import { ipsOf, leftByRouter, u2oAllocation } from '../underlay/u2o-allocation.ts';
import { hasLogicalGateway } from '../../model/net-in-force.ts';
import type { NetInForce } from '../../model/net-in-force.ts';
import {
  notedGateways,
  notedRouter,
  noteOn,
  parseAcceptedNote,
  parseFormerGateways,
  renderAcceptedNote,
} from './accepted-note.ts';
import type { FormerGateway } from './accepted-note.ts';

function partOf(net: SubnetNet, family: Family): FamilyNet | undefined {
  return family === 4 ? net.v4 : net.v6;
}

/** Noted gateways in a family's network other than its current gateway. They are never allocated. */
export function withheldGateways(subnet: Subnet, { cidr, gateway }: FamilyNet): readonly bigint[] {
  const note = noteOn(subnet);
  const left = new Set(leftByRouter(subnet.spec, note).map(formatIp));
  const kept = new Set(
    notedRouter(note)
      .map(formatIp)
      .filter((text) => !left.has(text)),
  );
  const noted = notedGateways(note).filter((ip) => !kept.has(formatIp(ip)));
  const values = noted.filter((ip) => cidrContains(cidr, ip) && ip.value !== gateway);
  return [...new Set(values.map(({ value }) => value))];
}

function gatewaysOf({ v4, v6 }: SubnetNet): readonly Ip[] {
  const parts = [v4, v6].filter((part) => part !== undefined);
  return parts.map(({ cidr, gateway }): Ip => ({ family: cidr.family, value: gateway }));
}

/** Gateways of a subnet that are addresses of the router. Other subnets have a gateway in the physical network. */
function ownAddresses(net: NetInForce, router: readonly Ip[]): readonly Ip[] {
  return hasLogicalGateway(net) ? gatewaysOf(net) : router;
}

function routerOf(view: View, name: string): readonly Ip[] {
  const allocation = u2oAllocation(view, name);
  return allocation === undefined ? [] : ipsOf(allocation);
}

function podsIn(view: View, subnet: string): readonly Pod[] {
  const keys = [...view.keysIn(subnet)].filter((key) => key.startsWith('pod/'));
  return keys.flatMap((key) => view.pods.get(key.slice('pod/'.length)) ?? []);
}

function usersOf(pods: readonly Pod[], { untilMs }: FormerGateway): readonly Pod[] {
  return pods.filter(({ createdMs }) => createdMs <= untilMs);
}

/** Former gateways that a pod may still use. */
export function formerGateways(view: View, name: string): readonly FormerGateway[] {
  const subnet = view.subnets.get(name);
  const note = subnet && noteOn(subnet);
  const net = view.verdicts.get(name)?.net;
  if (net === undefined || note === undefined) return [];
  const before = parseAcceptedNote(note);
  const own = new Set(ownAddresses(net, routerOf(view, name)).map(formatIp));
  const replaced = before === undefined ? [] : ownAddresses(before, notedRouter(note));
  const noted = parseFormerGateways(note);
  if (noted.length === 0 && replaced.every((ip) => own.has(formatIp(ip)))) return [];
  const pods = podsIn(view, name);
  const untilMs = pods.reduce((latest, { createdMs }) => Math.max(latest, createdMs), 0);
  const all = [...replaced.map((ip): FormerGateway => ({ ip, untilMs })), ...noted];
  const seen = new Set<string>();
  return all.filter((former) => {
    const part = partOf(net, former.ip.family);
    const text = formatIp(former.ip);
    if (part === undefined || !cidrContains(part.cidr, former.ip) || part.gateway === former.ip.value) return false;
    if (own.has(text) || seen.has(text) || usersOf(pods, former).length === 0) return false;
    seen.add(text);
    return true;
  });
}

/** The network in force of a Subnet, as the text of its annotation; undefined if there is none. */
export function acceptedNoteOf(view: View, name: string): string | undefined {
  const { net, of = '' } = view.verdicts.get(name) ?? {};
  return net && renderAcceptedNote(net, { former: formerGateways(view, name), router: routerOf(view, name), of });
}

/** Addresses and names of at most `most` pods that a former gateway waits for. */
export function formerGatewaySentence(view: View, name: string, most = 5): string | undefined {
  const former = formerGateways(view, name);
  if (former.length === 0) return undefined;
  const pods = podsIn(view, name);
  const names = [
    ...new Set(former.flatMap((one) => usersOf(pods, one)).map((pod) => `${pod.namespace}/${pod.name}`)),
  ].sort();
  const rest = names.length > most ? ` and ${names.length - most} more` : '';
  const addresses = former.map(({ ip }) => formatIp(ip)).join(', ');
  return `the former gateway ${addresses} keeps answering until the pods created before the change have been recreated: ${names.slice(0, most).join(', ')}${rest}`;
}
