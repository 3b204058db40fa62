/**
 * Which gateways of a member take part in encryption, and their addresses within the tunnels. In: the accepted gateways, what the
 * member says of their keys, and what others have. Out: the gateways, with key, endpoints and address where accepted; rejections
 * are added to `refusals`. A key or an address that another member has stays with that one: the older holder keeps it. Pure.
 */
import { cidrContains, lastOf, parseCidr, type Cidr } from '../../../lib/net/cidr.ts';
import { formatIp, parseIp } from '../../../lib/net/ip.ts';
import type { AcceptedKey, Gateway, KeyAcceptance, WireGuard } from '../../model/messages.ts';
import type { Others } from '../model/holdings.ts';
import { clusterName, type MemberRecord } from '../model/record.ts';
import type { Refusals } from './refusals.ts';

const mostEndpoints = 4;

export interface WireGuardFacts {
  readonly own: MemberRecord | undefined;
  readonly others: Pick<Others, 'publicKey' | 'tunnelAddress'>;
  readonly tunnelCidr: string;
  /** Whether a member may have an address that the hub does not know of. */
  readonly hasUnknownPorts: boolean;
}

export function admitWireGuard(
  gateways: readonly Gateway[],
  requested: readonly Gateway[],
  facts: WireGuardFacts,
  refusals: Refusals,
): readonly Gateway[] {
  const wishes = new Map(requested.map(({ chassis, wireGuard }) => [chassis, wireGuard ?? undefined]));
  const held = new Map((facts.own?.gateways ?? []).map(({ chassis, wireGuard }) => [chassis, wireGuard?.address]));
  const cidr = parseCidr(facts.tunnelCidr);
  const keys = new Set<string>();
  const taken = new Set<string>();
  const isFree = (address: string): boolean => !taken.has(address) && facts.others.tunnelAddress(address) === undefined;
  // Addresses that gateways have come first, so that none of them is given to another gateway of the member.
  const kept = new Map<string, string>();
  for (const { chassis } of gateways)
    for (const address of [held.get(chassis), wishes.get(chassis)?.address])
      if (
        cidr !== undefined &&
        address !== undefined &&
        !kept.has(chassis) &&
        isWithin(cidr, address) &&
        isFree(address)
      ) {
        kept.set(chassis, address);
        taken.add(address);
      }
  return gateways.map((gateway) => {
    const wish = wishes.get(gateway.chassis);
    if (wish === undefined) return gateway;
    const no = (code: string, message: string, holder = ''): Gateway => {
      refusals.add({ kind: 'key', value: gateway.chassis, code, message, holder, transitSwitch: '' });
      return gateway;
    };
    const about = `gateway ${gateway.chassis} takes no part in encryption`;
    if (!isPublicKey(wish.publicKey)) return no('KeyInvalid', `${about}: its public key is not base64 of 32 bytes`);
    const holder = facts.others.publicKey(wish.publicKey);
    if (holder !== undefined || keys.has(wish.publicKey)) {
      const whose = holder ?? 'another gateway of this cluster';
      const advice = 'delete the file of its private key, which was copied, and restart its daemon';
      return no('DuplicateKey', `${about}: ${whose} has its public key already; ${advice}`, holder);
    }
    keys.add(wish.publicKey);
    const next = nextKeyOf(wish, (key) => keys.has(key) || facts.others.publicKey(key) !== undefined);
    if (next === 'refused') {
      const advice =
        'delete the file wireguard.key.next beside its private key and restart its daemon, which makes another one';
      const message = `gateway ${gateway.chassis} keeps its key: its next one is no key, or another gateway has it already; ${advice}`;
      refusals.add({
        kind: 'key',
        value: gateway.chassis,
        code: 'NextKeyRefused',
        message,
        holder: '',
        transitSwitch: '',
      });
    } else if (next !== undefined) keys.add(next);
    const address = kept.get(gateway.chassis) ?? (cidr && freeAddress(cidr, isFree, facts.hasUnknownPorts));
    if (address === undefined)
      return no(
        'TunnelAddressesExhausted',
        `${about}: no address is free in ${facts.tunnelCidr} (--tunnel-cidr of the hub)`,
      );
    taken.add(address);
    const endpoints = wish.endpoints.filter(isEndpoint).slice(0, mostEndpoints);
    const nextKey = next === undefined || next === 'refused' ? {} : { nextKey: next };
    const wireGuard: WireGuard = { publicKey: wish.publicKey, endpoints, address, ...nextKey };
    return { ...gateway, wireGuard };
  });
}

function nextKeyOf({ nextKey = '' }: WireGuard, isTaken: (key: string) => boolean): string | undefined {
  if (nextKey === '') return undefined;
  return isPublicKey(nextKey) && !isTaken(nextKey) ? nextKey : 'refused';
}

const mostAccepted = 10_000;

/** Next keys that a member says to accept, by text; what cannot be a key of another member is left out. */
export function admitAcceptedKeys(accepted: readonly AcceptedKey[] = []): ReadonlyMap<string, AcceptedKey> {
  const usable = accepted
    .slice(0, mostAccepted)
    .filter((one) => isPublicKey(one.publicKey) && clusterName.test(one.cluster));
  return new Map(usable.map((one) => [`${one.cluster} ${one.publicKey}`, one]));
}

/** What the member of a record receives about its next keys. `clusters`: the members that say to accept a key of it. */
export function keyAcceptances(
  record: MemberRecord | undefined,
  clusters: (publicKey: string) => readonly string[],
): readonly KeyAcceptance[] {
  return (record?.gateways ?? []).flatMap(({ wireGuard }) => {
    const publicKey = wireGuard?.nextKey ?? '';
    return publicKey === '' ? [] : [{ publicKey, clusters: clusters(publicKey) }];
  });
}

export function isPublicKey(text: string): boolean {
  return /^[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$/.test(text);
}

/** `address:port` or `[address]:port`; nothing that is no single other machine. */
export function isEndpoint(text: string): boolean {
  const [, six, four, port] = /^(?:\[([0-9a-fA-F:]+)\]|([0-9.]+)):([1-9]\d{0,4})$/.exec(text) ?? [];
  const ip = parseIp(six ?? four ?? '');
  if (ip === undefined || Number(port) > 65_535) return false;
  return !unusable.some((cidr) => cidrContains(cidr, ip));
}

const unusable = [
  '0.0.0.0/8',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '224.0.0.0/3',
  '::/127',
  'fe80::/10',
  'ff00::/8',
].flatMap((text) => parseCidr(text) ?? []);

function isWithin(cidr: Cidr, address: string): boolean {
  const ip = parseIp(address);
  if (ip === undefined || formatIp(ip) !== address || !cidrContains(cidr, ip)) return false;
  return ip.value !== cidr.network && ip.value !== lastOf(cidr);
}

/** The lowest, or the highest while there may be unknown holders, which once got the lowest. */
function freeAddress(cidr: Cidr, isFree: (address: string) => boolean, isFromTop: boolean): string | undefined {
  const [first, last] = [cidr.network + 1n, lastOf(cidr) - 1n];
  for (let step = 0n; first + step <= last; step += 1n) {
    const address = formatIp({ family: cidr.family, value: isFromTop ? last - step : first + step });
    if (isFree(address)) return address;
  }
  return undefined;
}
