/** The network of a Subnet that is in force: the controller records it on the object, the other rooms read it. Pure. */
import { parseCidr, type Cidr } from '../net/cidr.ts';
import { parseIp } from '../net/ip.ts';
import { annotation } from './names.ts';
import type { SubnetRouting } from './subnet-routing.ts';

/** The VLAN of a subnet in the physical network. */
export interface Underlay {
  /** The ProviderNetwork. */
  readonly provider: string;
  /** 0 for packets without a tag. */
  readonly vlan: number;
  readonly routing: Exclude<SubnetRouting, 'overlay'>;
}

type Annotations = Readonly<Record<string, string>> | undefined;

/**
 * The CIDRs of a Subnet's pods, from its annotations: the CIDRs accepted last. They differ from `spec.cidrBlock` while
 * the spec is not validated yet, and after a refused edit. Empty if nothing is in force.
 */
export function networksInForce(annotations: Annotations): readonly Cidr[] {
  const [cidrs = ''] = (annotations?.[annotation.accepted] ?? '').split(' ');
  return cidrs.split(',').flatMap((text) => parseCidr(text) ?? []);
}

/** In a note, begins the address of the VPC's router where the gateway is a router of the physical network. */
export const routerMark = 'router=';

/**
 * The addresses of the subnet's routers: the gateways, as they stand beside the CIDRs, further addresses of the VPC's router, and
 * former gateways, which answer until no pod uses them.
 */
export function gatewaysInForce(annotations: Annotations): readonly string[] {
  const [, gateways = '', ...others] = (annotations?.[annotation.accepted] ?? '').split(' ');
  const router = others.find((one) => one.startsWith(routerMark))?.slice(routerMark.length) ?? '';
  const former = others.find((one) => one.includes('@'))?.replaceAll(/@\d+/g, '') ?? '';
  return [gateways, router, former].flatMap((texts) => texts.split(',')).filter((text) => parseIp(text) !== undefined);
}

const routings = ['logicalGateway', 'u2o', 'physical', 'nodes'] as const;

/** As a note has it: `net1/100/u2o`. */
export function underlayText({ provider, vlan, routing }: Underlay): string {
  return `${provider}/${vlan}/${routing}`;
}

function parseUnderlay(text: string): Underlay | undefined {
  const [, provider = '', vlan = '', name = ''] = /^([^/@]+)\/(\d{1,4})\/(\w+)$/.exec(text) ?? [];
  const routing = routings.find((one) => one === name);
  return routing && { provider, vlan: Number(vlan), routing };
}

/** The VLAN in a record, after CIDRs and gateways; undefined for an overlay subnet. */
export function notedUnderlay(note: string | undefined): Underlay | undefined {
  const [, , ...others] = (note ?? '').split(' ');
  return others.map(parseUnderlay).find((one) => one !== undefined);
}

/** How packets of a Subnet leave it now, from its annotations, regardless of later edits of its spec. */
export function routingInForce(annotations: Annotations): SubnetRouting {
  return notedUnderlay(annotations?.[annotation.accepted])?.routing ?? 'overlay';
}
