/** What of a Subnet is in force, as the controller notes it on the object and the other rooms read it. Pure. */
import { parseCidr, type Cidr } from '../net/cidr.ts';
import { parseIp } from '../net/ip.ts';
import { annotation } from './names.ts';
import type { SubnetRouting } from './subnet-routing.ts';

/** The VLAN of the physical network that a subnet is in. */
export interface Underlay {
  /** The ProviderNetwork. */
  readonly provider: string;
  /** 0 for packets without a tag. */
  readonly vlan: number;
  readonly routing: Exclude<SubnetRouting, 'overlay'>;
}

type Annotations = Readonly<Record<string, string>> | undefined;

/**
 * The CIDRs that pods of a Subnet have, by its annotations: those accepted last. They differ from `spec.cidrBlock` while
 * that is not judged yet, and after an edit that was refused. Empty where nothing is in force.
 */
export function networksInForce(annotations: Annotations): readonly Cidr[] {
  const [cidrs = ''] = (annotations?.[annotation.accepted] ?? '').split(' ');
  return cidrs.split(',').flatMap((text) => parseCidr(text) ?? []);
}

/** In a note, what the router of the VPC has beside the gateway, which is then one of the physical network. */
export const routerMark = 'router=';

/**
 * The addresses of its routers: the gateways, as they stand beside the CIDRs, what the router of the VPC has beside them, and former
 * gateways, which answer until no pod uses them.
 */
export function gatewaysInForce(annotations: Annotations): readonly string[] {
  const [, gateways = '', ...others] = (annotations?.[annotation.accepted] ?? '').split(' ');
  const router = others.find((one) => one.startsWith(routerMark))?.slice(routerMark.length) ?? '';
  const former = others.find((one) => one.includes('@'))?.replaceAll(/@\d+/g, '') ?? '';
  return [gateways, router, former].flatMap((texts) => texts.split(',')).filter((text) => parseIp(text) !== undefined);
}

const routings = ['logicalGateway', 'u2o', 'physical'] as const;

/** As a note has it: `net1/100/u2o`. */
export function underlayText({ provider, vlan, routing }: Underlay): string {
  return `${provider}/${vlan}/${routing}`;
}

function parseUnderlay(text: string): Underlay | undefined {
  const [, provider = '', vlan = '', name = ''] = /^([^/@]+)\/(\d{1,4})\/(\w+)$/.exec(text) ?? [];
  const routing = routings.find((one) => one === name);
  return routing && { provider, vlan: Number(vlan), routing };
}

/** What a note says of a VLAN, behind CIDRs and gateways; undefined of an overlay subnet. */
export function notedUnderlay(note: string | undefined): Underlay | undefined {
  const [, , ...others] = (note ?? '').split(' ');
  return others.map(parseUnderlay).find((one) => one !== undefined);
}

/** How packets of a Subnet leave it now, by its annotations, whatever its spec has come to ask for. */
export function routingInForce(annotations: Annotations): SubnetRouting {
  return notedUnderlay(annotations?.[annotation.accepted])?.routing ?? 'overlay';
}
