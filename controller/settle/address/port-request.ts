/** Parses a pod's annotations into the request for one interface, or a problem. */
import { annotation, joinSubnet } from '../../../lib/api/names.ts';
import type { Problem } from '../../../lib/desired/problem.ts';
import { parseIp } from '../../../lib/net/ip.ts';
import type { Family, Ip } from '../../../lib/net/ip.ts';
import { parseMac } from '../../../lib/net/mac.ts';
import type { Pod } from '../../model/objects.ts';
import { annotationOf } from '../../model/interfaces.ts';
import type { Interface } from '../../model/interfaces.ts';

export interface PortRequest {
  /** Subnets to try, in order; undefined leaves it to the namespace or the network. */
  readonly subnets?: readonly string[];
  readonly addresses?: readonly Ip[];
  /** Sets of addresses; the first free set is allocated. */
  readonly candidates?: readonly (readonly Ip[])[];
  /** IPPools to try, in order. */
  readonly pools?: readonly string[];
  /** The Vip whose address the port uses. */
  readonly vip?: string;
  readonly mac?: string;
  /** Whether the port is the subnet's router. */
  readonly isRouter?: boolean;
  readonly families?: readonly Family[];
}

type Read<T> = { readonly value: T } | { readonly problem: Problem };

function wrong(code: string, message: string): { readonly problem: Problem } {
  return { problem: { code, message } };
}

/** `v4`, `v6` or `v4,v6`; undefined if a part is not an address or a family occurs twice. */
export function parseAddresses(text: string): readonly Ip[] | undefined {
  const ips = text.split(',').map((part) => parseIp(part.trim()));
  const families = new Set(ips.map((ip) => ip?.family));
  return ips.some((ip) => ip === undefined) || families.size !== ips.length
    ? undefined
    : ips.filter((ip) => ip !== undefined);
}

function readFamilies(key: string, text: string | undefined): Read<readonly Family[] | undefined> {
  const wanted = text?.toLowerCase() ?? '';
  if (wanted === '' || wanted === 'dual') return { value: undefined };
  if (wanted === 'ipv4') return { value: [4] };
  if (wanted === 'ipv6') return { value: [6] };
  return wrong('InvalidIPFamily', `annotation ${key}: '${text}' is neither ipv4 nor ipv6`);
}

function readAddresses(key: string, text: string): Read<readonly Ip[] | undefined> {
  if (text === '') return { value: undefined };
  const value = parseAddresses(text);
  if (value !== undefined) return { value };
  return wrong(
    'InvalidAddress',
    `annotation ${key}: '${text}' is not an IPv4 address, an IPv6 address, or one of each`,
  );
}

/** Ordinal of a pod of a StatefulSet. */
export function ordinalOf(pod: Pod): number | undefined {
  if (pod.owner?.kind !== 'StatefulSet') return undefined;
  const digits = /-(\d+)$/.exec(pod.name)?.[1];
  return digits === undefined ? undefined : Number(digits);
}

/** `;` or, without one, `,` between the pods' addresses; a dual address is `v4,v6`. */
function readList(key: string, text: string): Read<readonly (readonly Ip[])[]> {
  const parts = text.split(text.includes(';') ? ';' : ',').filter((part) => part.trim() !== '');
  const sets = parts.map((part) => parseAddresses(part));
  const bad = parts.find((_, index) => sets[index] === undefined);
  if (bad === undefined) return { value: sets.filter((set) => set !== undefined) };
  return wrong('InvalidAddress', `annotation ${key}: '${bad}' is not an address`);
}

/** Addresses to choose from, the address of a StatefulSet's pod, or the name of an IPPool. */
function readPool(pod: Pod, key: string, text: string): Read<PortRequest> {
  if (text === '') return { value: {} };
  if (!text.includes(';') && parseIp(text.split(',')[0]?.trim() ?? '') === undefined) {
    return { value: { pools: text.split(',').map((name) => name.trim()) } };
  }
  const list = readList(key, text);
  if ('problem' in list) return list;
  const ordinal = ordinalOf(pod);
  // Written before two families had a separator of their own: `v4,v6` of a single pod.
  const pair = text.includes(';') ? undefined : parseAddresses(text);
  const sets = ordinal === undefined && pair !== undefined && pair.length === 2 ? [pair] : list.value;
  if (ordinal === undefined) return { value: { candidates: sets } };
  const own = sets[ordinal];
  if (own !== undefined) return { value: { addresses: own } };
  return wrong(
    'NoAvailableAddress',
    `annotation ${key} has ${sets.length} addresses, and none for pod ${pod.name} with ordinal ${ordinal}: add one for each replica`,
  );
}

/** `<attachment>.<namespace>.kubernetes.io/ip_address.<interface>`: the request for one of several interfaces. */
function askedFor(pod: Pod, network: Interface, key: string): { readonly key: string; readonly text: string } {
  const own = annotationOf(network, key);
  const single = `${network.provider.replace(/\.ovn$/, '')}.kubernetes.io/${key}.${network.name ?? ''}`;
  const text = pod.annotations[own];
  if (text !== undefined || network.name === undefined) return { key: own, text: text ?? '' };
  return { key: single, text: pod.annotations[single] ?? '' };
}

export function readPortRequest(pod: Pod, network: Interface): Read<PortRequest> {
  if (pod.unsupported.length > 0) {
    const names = pod.unsupported.join(', ');
    return wrong('NotSupported', `annotations ${names} cannot be served by this release: remove them`);
  }
  const of = (key: string): { readonly key: string; readonly text: string } => askedFor(pod, network, key);
  const ip = of('ip_address');
  const addresses = readAddresses(ip.key, ip.text === '' ? (network.ips?.map(bare).join() ?? '') : ip.text);
  if ('problem' in addresses) return addresses;
  const subnet = of('logical_switch');
  if (subnet.text.split(',').includes(joinSubnet)) {
    return wrong('NotSupported', `annotation ${subnet.key}: ${joinSubnet} is for nodes: name another subnet`);
  }
  const macText = of('mac_address').text || (network.mac ?? '');
  const mac = macText === '' ? undefined : parseMac(macText);
  if (macText !== '' && mac === undefined) {
    return wrong('InvalidAddress', `annotation ${of('mac_address').key}: '${macText}' is not a unicast MAC address`);
  }
  const family = of('ip_family');
  const families = readFamilies(family.key, family.text);
  if ('problem' in families) return families;
  const pool = of('ip_pool');
  const choice = addresses.value === undefined ? readPool(pod, pool.key, pool.text) : { value: {} };
  if ('problem' in choice) return choice;
  const vip = network.isDefault ? (pod.annotations[annotation.vip] ?? '') : '';
  return {
    value: {
      ...choice.value,
      ...(subnet.text === '' ? {} : { subnets: subnet.text.split(',').map((name) => name.trim()) }),
      ...(addresses.value === undefined ? {} : { addresses: addresses.value }),
      ...(mac === undefined ? {} : { mac }),
      ...(families.value === undefined ? {} : { families: families.value }),
      ...(vip === '' ? {} : { vip }),
    },
  };
}

/** An address without the prefix length that selections of networks may carry. */
function bare(text: string): string {
  return text.split('/', 1)[0] ?? '';
}
