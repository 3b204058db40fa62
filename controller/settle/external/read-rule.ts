/**
 * Reads a rule that uses an address outside: resolves its two sides, and the port of the router between them. In: the rule, its OvnEip and
 * the holder of the address inside. Out: a verdict without regard to other rules, and the entries that the rule claims. Pure.
 */
import { defaultVpc } from '../../../lib/api/names.ts';
import type { Problem } from '../../../lib/desired/problem.ts';
import { formatCidr, parseCidr } from '../../../lib/net/cidr.ts';
import { bitsOf, formatIp, parseIp } from '../../../lib/net/ip.ts';
import type { Family } from '../../../lib/net/ip.ts';
import { hasRouterPort } from '../../model/net-in-force.ts';
import { insidePorts } from '../../model/external-objects.ts';
import type {
  ExternalRuleStore,
  InsideSpec,
  OvnDnatRule,
  OvnEip,
  OvnFip,
  OvnSnatRule,
} from '../../model/external-objects.ts';
import { eipPort } from '../../model/ovn-names.ts';
import type { ExternalPair, ExternalRule, GatewayPort } from '../../model/settled.ts';
import type { View } from '../../model/view.ts';
import { subnetOfEip } from '../address/holders/eip.ts';
import { servedNet } from '../subnet/served-net.ts';
import { gatewayIp } from '../subnet/subnet-net.ts';
import { isDistributed } from './external-config.ts';
import { gatewayPortKey, gatewayPortName, gatewayPortNamed, gatewayPortsOf } from './external-subnets.ts';
import { hasBridge } from './gateway-port.ts';

/** An entry that rules with the same value share, and others do not have. */
export interface EntryClaim {
  readonly entry: string;
  readonly value: string;
  /** The reason of the refusal of another rule. */
  readonly code: string;
  /** What the entry is, for messages. */
  readonly what: string;
  /** What to do; by default, to use another entry. */
  readonly remedy?: string;
}

export interface ReadRule {
  readonly verdict: ExternalRule;
  readonly claims: readonly EntryClaim[];
  /** The Subnet of the address inside, if one has it. */
  readonly insideSubnet: string | undefined;
}

interface Inside {
  readonly vpc: string;
  readonly texts: Readonly<Partial<Record<Family, string>>>;
  readonly subnet?: string;
  readonly port?: string;
}

type Outcome<T> = { readonly value: T } | { readonly refusal: Problem } | { readonly obstacle: Problem };

const families: readonly Family[] = [4, 6];

function refuse(code: string, message: string): { readonly refusal: Problem } {
  return { refusal: { code, message } };
}

function wait(code: string, message: string): { readonly obstacle: Problem } {
  return { obstacle: { code, message } };
}

function textsOf(v4: string | undefined, v6: string | undefined): Inside['texts'] {
  return { ...(v4 === undefined || v4 === '' ? {} : { 4: v4 }), ...(v6 === undefined || v6 === '' ? {} : { 6: v6 }) };
}

/** The VPC of a Subnet in which its router has a port, so that packets from there pass it. */
function routedVpc(view: View, subnet: string, field: string, asked: string): Outcome<string> {
  const net = servedNet(view, subnet);
  const vpc = view.verdicts.get(subnet)?.vpc;
  if (net === undefined || vpc === undefined)
    return wait('SubnetNotReady', `${field}: Subnet ${subnet} does not exist or is not in force: create or correct it`);
  if (asked !== '' && asked !== vpc)
    return refuse('VpcMismatch', `spec.vpc is ${asked}, but ${field} is in Vpc ${vpc}: correct or remove spec.vpc`);
  if (!hasRouterPort(net))
    return refuse(
      'NotRouted',
      `${field}: the router of Vpc ${vpc} has no port in Subnet ${subnet}, whose gateway is one of the physical network: use an address of another Subnet`,
    );
  return { value: vpc };
}

function heldInside(view: View, spec: Pick<InsideSpec, 'ipType' | 'ipName' | 'vpc'>): Outcome<Inside> {
  const [port = ''] = insidePorts(spec);
  const allocation = view.allocation(port);
  if (allocation === undefined) {
    const what = spec.ipType === 'vip' ? 'Vip' : 'IP object';
    return wait('IpNotFound', `spec.ipName: ${what} ${spec.ipName} does not exist or has no address yet`);
  }
  const { subnet, v4, v6 } = allocation;
  const vpc = routedVpc(view, subnet, `spec.ipName ${spec.ipName}`, spec.vpc);
  if (!('value' in vpc)) return vpc;
  return { value: { vpc: vpc.value, texts: textsOf(v4, v6), subnet, port } };
}

/** An address in canonical form; undefined for an empty text. @returns the problem of another text */
function canonical(text: string, family: Family, field: string): Outcome<string | undefined> {
  if (text === '') return { value: undefined };
  const ip = parseIp(text);
  if (ip?.family === family) return { value: formatIp(ip) };
  return refuse('InvalidAddress', `spec.${field}: '${text}' is not an IPv${family} address`);
}

function readInside(view: View, spec: InsideSpec): Outcome<Inside> {
  const [v4, v6] = [canonical(spec.v4Ip, 4, 'v4Ip'), canonical(spec.v6Ip, 6, 'v6Ip')];
  if (!('value' in v4)) return v4;
  if (!('value' in v6)) return v6;
  const given = textsOf(v4.value, v6.value);
  if (spec.ipName === '') {
    if (Object.keys(given).length > 0 && spec.vpc !== '') return { value: { vpc: spec.vpc, texts: given } };
    return refuse('InsideMissing', 'spec.ipName, or spec.vpc with spec.v4Ip or spec.v6Ip, is needed: set one of them');
  }
  const held = heldInside(view, spec);
  if (!('value' in held)) return held;
  const stray = families.find((family) => given[family] !== undefined && given[family] !== held.value.texts[family]);
  if (stray === undefined) return held;
  return refuse(
    'AddressMismatch',
    `spec.v${stray}Ip is ${given[stray]}, but ${spec.ipName} has ${held.value.texts[stray] ?? 'no such address'}: remove spec.v${stray}Ip`,
  );
}

/** A network or address as a CIDR, or as an address if it is one: NAT rows of OVN have either. */
function sourceText(text: string, family: Family, field: string): Outcome<string | undefined> {
  if (text === '') return { value: undefined };
  const ip = parseIp(text);
  const cidr = ip === undefined ? parseCidr(text) : undefined;
  if (ip?.family === family) return { value: formatIp(ip) };
  if (cidr?.family !== family)
    return refuse('InvalidAddress', `spec.${field}: '${text}' is no IPv${family} CIDR or address`);
  if (cidr.prefix < bitsOf(family)) return { value: formatCidr(cidr) };
  return { value: formatIp({ family, value: cidr.network }) };
}

function readSource(view: View, { spec }: OvnSnatRule): Outcome<Inside> {
  const given = [spec.vpcSubnet, spec.ipName, `${spec.v4IpCidr}${spec.v6IpCidr}`].filter((text) => text !== '');
  if (given.length > 1)
    return refuse(
      'SourceAmbiguous',
      'spec.vpcSubnet, spec.ipName and the CIDRs say different things: keep one of the three',
    );
  if (spec.ipName !== '') return heldInside(view, { ipType: '', ipName: spec.ipName, vpc: spec.vpc });
  if (spec.vpcSubnet !== '') {
    const { vpcSubnet: subnet } = spec;
    const vpc = routedVpc(view, subnet, 'spec.vpcSubnet', spec.vpc);
    if (!('value' in vpc)) return vpc;
    const net = servedNet(view, subnet);
    const text = (family: Family): string | undefined => {
      const part = family === 4 ? net?.v4 : net?.v6;
      return part && formatCidr(part.cidr);
    };
    return { value: { vpc: vpc.value, texts: textsOf(text(4), text(6)), subnet } };
  }
  const [v4, v6] = [sourceText(spec.v4IpCidr, 4, 'v4IpCidr'), sourceText(spec.v6IpCidr, 6, 'v6IpCidr')];
  if (!('value' in v4)) return v4;
  if (!('value' in v6)) return v6;
  if (given.length > 0 && spec.vpc !== '') return { value: { vpc: spec.vpc, texts: textsOf(v4.value, v6.value) } };
  return refuse('InsideMissing', 'spec.vpcSubnet, spec.ipName, or spec.vpc with a CIDR, is needed: set one of them');
}

function readEip(view: View, name: string, store: ExternalRuleStore): Outcome<OvnEip> {
  const eip = view.ovnEips.get(name);
  if (eip === undefined) return wait('EipNotFound', `spec.ovnEip: OvnEip ${name} does not exist: create it`);
  const type = eip.spec.type || 'nat';
  if (type === 'lsp' || (type === 'lrp' && store === 'ovnFips'))
    return refuse('EipNotNat', `spec.ovnEip: OvnEip ${name} is of type ${type}: name one of type nat`);
  if (view.allocation(eipPort(name)) !== undefined) return { value: eip };
  const cause = view.addressProblem(eipPort(name))?.message ?? 'see its conditions';
  return wait('EipNotReady', `spec.ovnEip: OvnEip ${name} has no address: ${cause}`);
}

/** The port of the router between the two sides. */
function readPort(view: View, vpc: string, subnet: string, eip: OvnEip): Outcome<GatewayPort> {
  const port = view.gatewayPorts.get(gatewayPortKey(vpc, subnet));
  if (port === undefined)
    return wait(
      'NoExternalSubnet',
      `Vpc ${vpc} is not connected with Subnet ${subnet} of OvnEip ${eip.name}: set spec.enableExternal of the Vpc, and name ${subnet} in its spec.extraExternalSubnets unless it is the default one`,
    );
  if (port.problem !== undefined) return { obstacle: port.problem };
  const key = eipPort(gatewayPortName(port));
  if (view.allocation(key) === undefined) {
    // A translation without its port would be one of every port.
    const why = view.addressProblem(key)?.message ?? `see Vpc ${vpc}`;
    return wait('NoRouterAddress', `the router of Vpc ${vpc} has no address in Subnet ${subnet}: ${why}`);
  }
  const isOfRouter = eip.spec.type === 'lrp' && gatewayPortNamed(view, eip.name)?.vpc !== vpc;
  if (isOfRouter)
    return refuse(
      'EipNotNat',
      `spec.ovnEip: OvnEip ${eip.name} is the address of another router: name one of type nat`,
    );
  return { value: port };
}

/** The port of a distributed address, if the node of its pod has the bridge. */
function readLocal(view: View, fip: OvnFip, { port }: Inside, subnet: string): Outcome<string> {
  if (port === undefined || fip.spec.ipType === 'vip')
    return refuse(
      'DistributedNeedsPort',
      'spec.type distributed needs the IP object of a pod in spec.ipName, whose port answers for the address: name one, or use type centralized',
    );
  const owner = view.ips.get(port)?.spec;
  const node = owner && view.pods.get(`${owner.namespace}/${owner.podName}`)?.node;
  if (node === undefined)
    return wait(
      'PodNotScheduled',
      `the pod of IP object ${port} is on no node yet: a distributed address is where its pod is`,
    );
  const provider = servedNet(view, subnet)?.underlay?.provider ?? '';
  if (hasBridge(view.nodes.get(node), provider)) return { value: port };
  return wait(
    'NoBridgeOnNode',
    `node ${node} of the pod does not have ProviderNetwork ${provider}, by which the address would be reached: give it the network, move the pod, or use type centralized`,
  );
}

/** Load balancers of a router with several gateway ports are served by newer versions of OVN only. */
function gatewayObstacle(view: View, vpc: string): Outcome<undefined> {
  const ports = gatewayPortsOf(view, vpc).filter(({ problem }) => problem === undefined);
  if (ports.length < 2 || view.capabilities.severalGateways === true) return { value: undefined };
  const names = ports.map(({ subnet }) => subnet).join(', ');
  return wait(
    'DnatSingleGateway',
    `Vpc ${vpc} has ports in several Subnets outside (${names}), and this OVN translates ports of addresses on a router with one such port only: remove the others from spec.extraExternalSubnets, or upgrade to OVN 25.03`,
  );
}

/**
 * OVN leads packets from a published port to the gateway node, also those that answer a connection to a distributed address of the pod, of which the
 * gateway node knows nothing (OVN 25.03).
 */
function pathClaim(vpc: string, inside: string, value: 'gateway' | 'node'): EntryClaim {
  const what = `the way of packets from ${inside} (the gateway node for an OvnDnatRule, the node of the pod for a distributed OvnFip)`;
  const remedy = 'use type centralized in the OvnFip, or delete one of the two';
  return { entry: `path/${vpc}/${inside}`, value, code: 'PinnedElsewhere', what, remedy };
}

/** The value of a claim of a rule whose VPC is not known yet: any VPC may be the one. */
export const anyVpc = 'nat/?';

/** What a rule claims of its OvnEip, also while the address inside is not there: a rule that waits keeps its right. */
function addressClaims(
  view: View,
  store: ExternalRuleStore,
  name: string,
  { eip, vpc }: Pick<ExternalRule, 'eip' | 'vpc'>,
): EntryClaim[] {
  const own = `${store}/${name}`;
  const shared = vpc === '' ? anyVpc : `nat/${vpc}`;
  const claims: EntryClaim[] = [
    { entry: `eip/${eip}`, value: store === 'ovnFips' ? own : shared, code: 'AddressInUse', what: `OvnEip ${eip}` },
  ];
  const rule = store === 'ovnDnatRules' ? view.ovnDnatRules.get(name) : undefined;
  if (rule === undefined) return claims;
  const { protocol, externalPort } = rule.spec;
  const what = `port ${externalPort}/${protocol} of OvnEip ${eip}`;
  claims.push({ entry: `port/${eip}/${protocol}/${externalPort}`, value: own, code: 'PortInUse', what });
  return claims;
}

function claimsOf(
  view: View,
  store: ExternalRuleStore,
  name: string,
  { eip, vpc, subnet, pairs }: ExternalRule,
): readonly EntryClaim[] {
  const own = `${store}/${name}`;
  const isFip = store === 'ovnFips';
  const claims = addressClaims(view, store, name, { eip, vpc });
  const rule = store === 'ovnDnatRules' ? view.ovnDnatRules.get(name) : undefined;
  if (rule !== undefined) {
    const { protocol, internalPort } = rule.spec;
    for (const { inside } of pairs) {
      const reply = `the way of replies from port ${internalPort}/${protocol} of ${inside}, which is one Subnet outside,`;
      const entry = `reply/${vpc}/${inside}/${protocol}/${internalPort}`;
      claims.push({ entry, value: subnet, code: 'PinnedElsewhere', what: reply });
      claims.push(pathClaim(vpc, inside, 'gateway'));
    }
    return claims;
  }
  const fip = isFip ? view.ovnFips.get(name) : undefined;
  const isAtNode = fip !== undefined && isDistributed(view, fip);
  for (const { inside } of pairs) {
    const what = `the address outside of ${inside} in Vpc ${vpc}`;
    claims.push({ entry: `source/${vpc}/${inside}`, value: own, code: isFip ? 'AddressInUse' : 'Conflict', what });
    if (isAtNode) claims.push(pathClaim(vpc, inside, 'node'));
  }
  return claims;
}

/** The pairs with the gateway of the Subnet outside, unless it is the only way out of the VPC. */
function withWays(
  view: View,
  { vpc, subnet }: Pick<ExternalRule, 'vpc' | 'subnet'>,
  pairs: readonly ExternalPair[],
): readonly ExternalPair[] {
  const net = servedNet(view, subnet);
  if (view.gatewayPorts.get(gatewayPortKey(vpc, subnet))?.isOnlyExit === true) return pairs;
  return pairs.map((pair) => {
    const part = pair.family === 4 ? net?.v4 : net?.v6;
    return part === undefined
      ? pair
      : { ...pair, wayOut: { network: formatCidr(part.cidr), gateway: gatewayIp(part) } };
  });
}

/** Undefined if the rule does not exist. */
export function readRule(view: View, store: ExternalRuleStore, name: string): ReadRule | undefined {
  const rule = view[store].get(name);
  if (rule === undefined) return undefined;
  const { ovnEip } = rule.spec;
  const unread: ExternalRule = { eip: ovnEip, vpc: '', subnet: '', pairs: [] };
  const failed = (verdict: ExternalRule, outcome: object, insideSubnet?: string): ReadRule => ({
    verdict: { ...verdict, ...outcome },
    claims:
      'refusal' in outcome ? [] : addressClaims(view, store, name, { eip: ovnEip, vpc: verdict.vpc || rule.spec.vpc }),
    insideSubnet,
  });
  const inside =
    store === 'ovnSnatRules'
      ? readSource(view, rule as OvnSnatRule)
      : readInside(view, (rule as OvnFip | OvnDnatRule).spec);
  const eip = readEip(view, ovnEip, store);
  if ('refusal' in inside) return failed(unread, inside);
  if ('refusal' in eip || 'obstacle' in eip) return failed(unread, eip);
  const subnet = subnetOfEip(eip.value);
  if ('obstacle' in inside) return failed({ ...unread, subnet }, inside);
  const { vpc } = inside.value;
  const known = { ...unread, vpc, subnet };
  const insideSubnet = inside.value.subnet;
  if (!view.vpcs.has(vpc) && vpc !== defaultVpc)
    return failed(known, wait('VpcNotFound', `spec.vpc: Vpc ${vpc} does not exist: create it`), insideSubnet);
  const allocation = view.allocation(eipPort(ovnEip));
  const outside = textsOf(allocation?.v4, allocation?.v6);
  const router = view.allocation(eipPort(gatewayPortName({ vpc, subnet })));
  const ofRouter = router && textsOf(router.v4, router.v6);
  const pairs = families.flatMap((family): readonly ExternalPair[] => {
    const [from, to] = [outside[family], inside.value.texts[family]];
    const isRouted = ofRouter === undefined || ofRouter[family] !== undefined;
    return from === undefined || to === undefined || !isRouted ? [] : [{ family, outside: from, inside: to }];
  });
  if (pairs.length === 0) {
    const message = `OvnEip ${ovnEip} and the address inside have no family in common that the router has there (${Object.values(outside).join(', ')}; ${Object.values(inside.value.texts).join(', ')}; ${Object.values(ofRouter ?? {}).join(', ')}): use an OvnEip of the other family`;
    return failed(known, refuse('FamilyMismatch', message), insideSubnet);
  }
  const verdict = { ...known, pairs: withWays(view, known, pairs) };
  const claims = claimsOf(view, store, name, verdict);
  const port = readPort(view, vpc, subnet, eip.value);
  if (!('value' in port)) return { ...failed(verdict, port, insideSubnet), claims: 'refusal' in port ? [] : claims };
  if (store === 'ovnDnatRules') {
    const gateway = gatewayObstacle(view, vpc);
    if (!('value' in gateway)) return { ...failed(verdict, gateway, insideSubnet), claims };
  }
  if (store === 'ovnFips' && isDistributed(view, rule as OvnFip)) {
    const local = readLocal(view, rule as OvnFip, inside.value, subnet);
    if (!('value' in local))
      return { ...failed(verdict, local, insideSubnet), claims: 'refusal' in local ? [] : claims };
    return { verdict: { ...verdict, local: { port: local.value, mac: allocation?.mac ?? '' } }, claims, insideSubnet };
  }
  return { verdict, claims, insideSubnet };
}
