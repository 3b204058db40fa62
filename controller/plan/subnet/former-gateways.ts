/**
 * Gateways that were replaced. A running pod keeps the default route it was given, so its gateway stays on the router,
 * beside the new one, until the last pod that may have been set up with it is gone. The note on the Subnet remembers them,
 * not the pods' annotations, which pods' authors may write.
 */
import { cidrContains } from '../../../lib/net/cidr.ts';
import { formatIp } from '../../../lib/net/ip.ts';
import type { Family } from '../../../lib/net/ip.ts';
import type { FamilyNet } from '../../ipam/family-pool.ts';
import type { SubnetNet } from '../../ipam/subnet-pool.ts';
import type { Pod } from '../../state/objects.ts';
import type { View } from '../view.ts';
import { notedGateways, parseAcceptedNote, parseFormerGateways, renderAcceptedNote } from './accepted-note.ts';
import type { FormerGateway } from './accepted-note.ts';

function partOf(net: SubnetNet, family: Family): FamilyNet | undefined {
  return family === 4 ? net.v4 : net.v6;
}

/** Noted gateways in a family's network that are not its gateway: nobody is given them. */
export function withheldGateways(note: string | undefined, { cidr, gateway }: FamilyNet): readonly bigint[] {
  const values = notedGateways(note).filter((ip) => cidrContains(cidr, ip) && ip.value !== gateway);
  return [...new Set(values.map(({ value }) => value))];
}

function podsIn(view: View, subnet: string): readonly Pod[] {
  const keys = [...view.keysIn(subnet)].filter((key) => key.startsWith('pod/'));
  return keys.flatMap((key) => view.pods.get(key.slice('pod/'.length)) ?? []);
}

function usersOf(pods: readonly Pod[], { untilMs }: FormerGateway): readonly Pod[] {
  return pods.filter(({ createdMs }) => createdMs <= untilMs);
}

/** Those a pod may still use. */
export function formerGateways(view: View, name: string): readonly FormerGateway[] {
  const note = view.subnets.get(name)?.acceptedNote;
  const net = view.verdicts.get(name)?.net;
  if (net === undefined || note === undefined) return [];
  const before = parseAcceptedNote(note);
  const replaced = [before?.v4, before?.v6].filter((part) => part !== undefined);
  const isLeft = replaced.every(({ cidr, gateway }) => partOf(net, cidr.family)?.gateway === gateway);
  const noted = parseFormerGateways(note);
  if (isLeft && noted.length === 0) return [];
  const pods = podsIn(view, name);
  const untilMs = pods.reduce((latest, { createdMs }) => Math.max(latest, createdMs), 0);
  const all = [
    ...replaced.map(({ cidr, gateway }): FormerGateway => ({ ip: { family: cidr.family, value: gateway }, untilMs })),
    ...noted,
  ];
  const seen = new Set<string>();
  return all.filter((former) => {
    const part = partOf(net, former.ip.family);
    const text = formatIp(former.ip);
    if (part === undefined || !cidrContains(part.cidr, former.ip) || part.gateway === former.ip.value) return false;
    if (seen.has(text) || usersOf(pods, former).length === 0) return false;
    seen.add(text);
    return true;
  });
}

/** What is in force of a Subnet, for its annotation; undefined where nothing is. */
export function acceptedNoteOf(view: View, name: string): string | undefined {
  const net = view.verdicts.get(name)?.net;
  return net && renderAcceptedNote(net, formerGateways(view, name));
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
  return `the former gateway ${addresses} answers until pods made before the change are made anew: ${names.slice(0, most).join(', ')}${rest}`;
}
