/**
 * Reads a rule that uses an address outside: resolves its two sides, and the port of the router between them. In: the rule, its OvnEip and
 * the holder of the address inside. Out: a verdict without regard to other rules, and the entries that the rule claims. Pure.
 */
import { defaultVpc } from '../../../lib/api/names.ts';
import type { Problem } from '../../../lib/desired/problem.ts';
import { cidrsOverlap, formatCidr, parseCidr } from '../../../lib/net/cidr.ts';
import { bitsOf, formatIp, parseIp } from '../../../lib/net/ip.ts';
import type { Family } from '../../../lib/net/ip.ts';
import { hasRouterPort } from '../../model/net-in-force.ts';
import { eipAt, eipRef, eipTitle, insidePorts } from '../../model/external-objects.ts';
import type { InsideSpec, OvnEip, OvnFip, OvnSnatRule } from '../../model/external-objects.ts';
import { externalRuleKinds, isPodRuleStore, ruleObject } from '../../model/external-rules.ts';
import type { AddressRule, AddressRuleStore, ExternalRuleStore, PodRuleStore } from '../../model/external-rules.ts';
import { isProblem, readRule as readLbRule } from '../../../lib/services/switch-lb-rule.ts';
import { ovnProtocols } from '../../../lib/services/vips.ts';
import { eipPort } from '../../model/ovn-names.ts';
import type { ExternalPair, ExternalRule, GatewayPort } from '../../model/settled.ts';
import type { View } from '../../model/view.ts';
import { servedNet } from '../subnet/served-net.ts';
import { gatewayIp } from '../subnet/subnet-net.ts';
import { isDistributed } from './external-config.ts';
import { gatewayPortKey, gatewayPortName, gatewayPortNamed, gatewayPortsOf } from './external-subnets.ts';
import { hasBridge } from './gateway-order.ts';
import { natGatewayProblem } from './nat-gateways.ts';
import { insidePort, outsideRefusal } from './pod-addresses.ts';

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
  /** Of a RouterLBRule: the backend that has no connections if another rule has the entry. The rule stays. */
  readonly backend?: string;
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
  /** Of an annotation: the pod, `namespace/name`. */
  readonly pod?: string;
}

export type Outcome<T> = { readonly value: T } | { readonly refusal: Problem } | { readonly obstacle: Problem };

export const families: readonly Family[] = [4, 6];

export function refuse(code: string, message: string): { readonly refusal: Problem } {
  return { refusal: { code, message } };
}

export function wait(code: string, message: string): { readonly obstacle: Problem } {
  return { obstacle: { code, message } };
}

export function textsOf(v4: string | undefined, v6: string | undefined): Inside['texts'] {
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

/** @param field of the IPv4 address, for messages */
function readInside(view: View, spec: InsideSpec, field: string): Outcome<Inside> {
  const [v4, v6] = [canonical(spec.v4Ip, 4, field), canonical(spec.v6Ip, 6, 'v6Ip')];
  if (!('value' in v4)) return v4;
  if (!('value' in v6)) return v6;
  const given = textsOf(v4.value, v6.value);
  if (spec.ipName === '') {
    if (Object.keys(given).length > 0 && spec.vpc !== '') return { value: { vpc: spec.vpc, texts: given } };
    const needed = 'spec.ipName, or spec.vpc with spec.v4Ip or spec.v6Ip, is needed: set one of them';
    return refuse('InsideMissing', field === 'v4Ip' ? needed : `spec.${field} is needed: set it`);
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

/** @param field of the IPv4 network, for messages */
function readSource(view: View, spec: OvnSnatRule['spec'], field: string): Outcome<Inside> {
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
  const [v4, v6] = [sourceText(spec.v4IpCidr, 4, field), sourceText(spec.v6IpCidr, 6, 'v6IpCidr')];
  if (!('value' in v4)) return v4;
  if (!('value' in v6)) return v6;
  if (given.length > 0 && spec.vpc !== '') return { value: { vpc: spec.vpc, texts: textsOf(v4.value, v6.value) } };
  const needed = 'spec.vpcSubnet, spec.ipName, or spec.vpc with a CIDR, is needed: set one of them';
  return refuse('InsideMissing', field === 'v4IpCidr' ? needed : `spec.${field} is needed: set it`);
}

/** The address of a pod itself, for an annotation of it. */
function readPod(view: View, store: PodRuleStore, name: string): Outcome<Inside> {
  const field = externalRuleKinds[store].eipField;
  const pod = view.pods.get(name);
  const refusal = pod && outsideRefusal(view, pod, store);
  if (refusal !== undefined) return { refusal };
  const held = insidePort(view, name);
  if (held === undefined) return wait('IpNotFound', `${field}: the pod has no address yet`);
  const { subnet, v4, v6 } = held.allocation;
  const vpc = routedVpc(view, subnet, field, '');
  if (!('value' in vpc)) return vpc;
  if (vpc.value === defaultVpc)
    return { value: { vpc: defaultVpc, texts: textsOf(v4, v6), subnet, port: held.port, pod: name } };
  return refuse(
    'VpcMismatch',
    `${field} is for pods of Vpc ${defaultVpc}, and this one is in Vpc ${vpc.value}: remove it, and have an administrator create an OvnEip with an ${store === 'podFips' ? 'OvnFip' : 'OvnSnatRule'}`,
  );
}

/** The address outside; one of a VpcNatGateway counts if the gateway does. */
export function readEip(view: View, id: string, store: ExternalRuleStore): Outcome<OvnEip> {
  const { eipField, use } = externalRuleKinds[store];
  const [eip, title] = [eipAt(view, id), eipTitle(id)];
  // Such a name in the spec of an object is none of an OvnEip.
  if (eipRef(id).kind === 'pods' && !isPodRuleStore(store))
    return refuse('EipNotFound', `${eipField}: '${id}' is not the name of an OvnEip: create one, and name it`);
  if (eip === undefined) return wait('EipNotFound', `${eipField}: ${title} does not exist: create it`);
  const type = eip.spec.type || 'nat';
  if (type === 'lsp' || (type === 'lrp' && use === 'fip'))
    return refuse('EipNotNat', `${eipField}: ${title} is of type ${type}: name one of type nat`);
  const { natGateway } = eip.spec;
  if (natGateway !== undefined) {
    const gateway = view.vpcNatGateways.get(natGateway);
    if (gateway === undefined)
      return wait('NatGatewayNotFound', `${title}: VpcNatGateway ${natGateway} does not exist: create it`);
    const problem = natGatewayProblem(view, gateway);
    if (problem !== undefined) return wait('NatGatewayNotReady', `VpcNatGateway ${natGateway}: ${problem.message}`);
  }
  if (view.allocation(eipPort(id)) !== undefined) return { value: eip };
  if (isPodRuleStore(store)) {
    const { code, message } = view.addressProblem(eipPort(id)) ?? {
      code: 'SubnetNotReady',
      message: `Subnet ${eip.spec.externalSubnet} does not exist or is not in force`,
    };
    return wait(code, `${eipField}: ${message}`);
  }
  const cause = view.addressProblem(eipPort(id))?.message ?? 'see its conditions';
  return wait('EipNotReady', `${eipField}: ${title} has no address: ${cause}`);
}

/** The VPC that a rule, or the VpcNatGateway of its address, names; empty if the address inside decides. */
function vpcOf(view: View, { rule: { spec } }: AddressRule): string {
  const natGateway = eipAt(view, spec.eip)?.spec.natGateway;
  return natGateway === undefined ? spec.vpc : (view.vpcNatGateways.get(natGateway)?.spec.vpc ?? '');
}

function connecting({ spec }: OvnEip, subnet: string): string {
  return spec.natGateway === undefined
    ? `set spec.enableExternal of the Vpc, and name ${subnet} in its spec.extraExternalSubnets unless it is the default one`
    : `name ${subnet} in spec.externalSubnets of VpcNatGateway ${spec.natGateway}`;
}

/** The port of the router between the two sides. */
export function readPort(view: View, vpc: string, subnet: string, eip: OvnEip): Outcome<GatewayPort> {
  const port = view.gatewayPorts.get(gatewayPortKey(vpc, subnet));
  if (port === undefined)
    return wait(
      'NoExternalSubnet',
      `Vpc ${vpc} is not connected with Subnet ${subnet} of ${eipTitle(eip.id)}: ${connecting(eip, subnet)}`,
    );
  if (port.problem !== undefined) return { obstacle: port.problem };
  const key = eipPort(gatewayPortName(port));
  if (view.allocation(key) === undefined) {
    // A translation without its port would be one of every port.
    const why = view.addressProblem(key)?.message ?? `see Vpc ${vpc}`;
    return wait('NoRouterAddress', `the router of Vpc ${vpc} has no address in Subnet ${subnet}: ${why}`);
  }
  const isOfRouter = eip.spec.type === 'lrp' && gatewayPortNamed(view, eip.id)?.vpc !== vpc;
  if (isOfRouter)
    return refuse(
      'EipNotNat',
      `spec.ovnEip: OvnEip ${eip.name} is the address of another router: name one of type nat`,
    );
  return { value: port };
}

/** The port of a distributed address, if the node of its pod has the bridge. */
function readLocal(view: View, fip: OvnFip, { port, pod }: Inside, subnet: string): Outcome<string> {
  if (port === undefined || fip.spec.ipType === 'vip')
    return refuse(
      'DistributedNeedsPort',
      'spec.type distributed needs the IP object of a pod in spec.ipName, whose port answers for the address: name one, or use type centralized',
    );
  const owner = view.ips.get(port)?.spec;
  const holder = pod ?? (owner && `${owner.namespace}/${owner.podName}`);
  const node = view.pods.get(holder ?? '')?.node;
  if (node === undefined)
    return wait(
      'PodNotScheduled',
      `the pod of IP object ${port} is on no node yet: a distributed address is where its pod is`,
    );
  const { provider = '', routing } = servedNet(view, subnet)?.underlay ?? {};
  if (routing === 'nodes')
    return refuse(
      'DistributedNeedsWire',
      `spec.type distributed: nodes route to Subnet ${subnet} themselves, and routers outside send packets to the node of the router port: use type centralized`,
    );
  if (hasBridge(view.nodes.get(node), provider)) return { value: port };
  return wait(
    'NoBridgeOnNode',
    `node ${node} of the pod does not have ProviderNetwork ${provider}, by which the address would be reached: give it the network, move the pod, or use type centralized`,
  );
}

/** Load balancers of a router with several gateway ports are served by newer versions of OVN only. */
export function gatewayObstacle(view: View, vpc: string): Outcome<undefined> {
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
export function pathClaim(vpc: string, inside: string, value: 'gateway' | 'node'): EntryClaim {
  const what = `the way of packets from ${inside} (the gateway node for an OvnDnatRule, the node of the pod for a distributed OvnFip)`;
  const remedy = 'use type centralized in the OvnFip, or delete one of the two';
  return { entry: `path/${vpc}/${inside}`, value, code: 'PinnedElsewhere', what, remedy };
}

/** The value of a claim of a rule whose VPC is not known yet: any VPC may be the one. */
export const anyVpc = 'nat/?';

/** What a rule claims of its OvnEip, also while the address inside is not there: a rule that waits keeps its right. */
export function addressClaims(
  view: View,
  store: ExternalRuleStore,
  name: string,
  { eip, vpc }: Pick<ExternalRule, 'eip' | 'vpc'>,
): EntryClaim[] {
  const own = `${store}/${name}`;
  const shared = isPodRuleStore(store)
    ? // Hosts outside tell tenants by their addresses: a pod does not leave with that of another namespace.
      `pods/${name.slice(0, name.indexOf('/'))}`
    : vpc === ''
      ? anyVpc
      : `nat/${vpc}`;
  const { use } = externalRuleKinds[store];
  const claims: EntryClaim[] = [
    { entry: `eip/${eip}`, value: use === 'fip' ? own : shared, code: 'AddressInUse', what: eipTitle(eip) },
  ];
  const object = ruleObject(view, store, name);
  const claim = (protocol: string, port: string, value: string): EntryClaim => {
    const what = `port ${port}/${protocol} of ${eipTitle(eip)}`;
    return { entry: `port/${eip}/${protocol}/${port}`, value, code: 'PortInUse', what };
  };
  if (object?.use === 'dnat') {
    const { spec, isShared } = object.rule;
    claims.push(claim(spec.protocol, spec.externalPort, isShared ? 'shared' : own));
  } else if (object?.use === 'lb') {
    const read = readLbRule(object.rule);
    if (isProblem(read)) return [];
    for (const { protocol, port } of read.ports) claims.push(claim(ovnProtocols[protocol], String(port), own));
  }
  return claims;
}

/** Replies from a published port leave by one Subnet outside. */
export function replyClaim(
  { vpc, subnet }: Pick<ExternalRule, 'vpc' | 'subnet'>,
  inside: string,
  protocol: string,
  port: number | string,
): EntryClaim {
  const what = `the way of replies from port ${port}/${protocol} of ${inside}, which is one Subnet outside,`;
  return { entry: `reply/${vpc}/${inside}/${protocol}/${port}`, value: subnet, code: 'PinnedElsewhere', what };
}

function claimsOf(
  view: View,
  store: AddressRuleStore,
  name: string,
  { eip, vpc, subnet, pairs }: ExternalRule,
): readonly EntryClaim[] {
  const own = `${store}/${name}`;
  const claims = addressClaims(view, store, name, { eip, vpc });
  const object = ruleObject(view, store, name);
  if (object?.use === 'dnat') {
    const { protocol, internalPort } = object.rule.spec;
    for (const { inside } of pairs) {
      claims.push(replyClaim({ vpc, subnet }, inside, protocol, internalPort));
      claims.push(pathClaim(vpc, inside, 'gateway'));
    }
    return claims;
  }
  const isFip = object?.use === 'fip';
  const isAtNode = isFip && isDistributed(view, object.rule);
  for (const { inside } of pairs) {
    const what = `the address outside of ${inside} in Vpc ${vpc}`;
    claims.push({ entry: `source/${vpc}/${inside}`, value: own, code: isFip ? 'AddressInUse' : 'Conflict', what });
    if (isAtNode) claims.push(pathClaim(vpc, inside, 'node'));
  }
  return claims;
}

/** Whether packets of the pair leave by the port without a policy. */
function leavesByItself({ isOnlyExit, detours }: GatewayPort, { family, inside }: ExternalPair): boolean {
  if (!isOnlyExit) return false;
  const source = parseCidr(inside.includes('/') ? inside : `${inside}/${bitsOf(family)}`);
  const networks = detours.flatMap((text) => parseCidr(text) ?? []);
  return source !== undefined && !networks.some((cidr) => cidr.family === family && cidrsOverlap(cidr, source));
}

/** The pairs with the gateway of the Subnet outside, unless it is the only way out of the packets. */
export function withWays(
  view: View,
  { vpc, subnet }: Pick<ExternalRule, 'vpc' | 'subnet'>,
  pairs: readonly ExternalPair[],
): readonly ExternalPair[] {
  const net = servedNet(view, subnet);
  const port = view.gatewayPorts.get(gatewayPortKey(vpc, subnet));
  return pairs.map((pair) => {
    if (port !== undefined && leavesByItself(port, pair)) return pair;
    const part = pair.family === 4 ? net?.v4 : net?.v6;
    return part === undefined
      ? pair
      : { ...pair, wayOut: { network: formatCidr(part.cidr), gateway: gatewayIp(part) } };
  });
}

/** Undefined if the rule does not exist. */
export function readRule(view: View, store: AddressRuleStore, name: string): ReadRule | undefined {
  const object = ruleObject(view, store, name);
  if (object === undefined) return undefined;
  const { eip: id } = object.rule.spec;
  const asked = vpcOf(view, object);
  const unread: ExternalRule = { eip: id, vpc: '', subnet: '', pairs: [] };
  const failed = (verdict: ExternalRule, outcome: object, insideSubnet?: string): ReadRule => ({
    verdict: { ...verdict, ...outcome },
    claims: 'refusal' in outcome ? [] : addressClaims(view, store, name, { eip: id, vpc: verdict.vpc || asked }),
    insideSubnet,
  });
  const { insideField } = externalRuleKinds[store];
  const eip = readEip(view, id, store);
  // Without its VpcNatGateway, it is not known in which VPC the address inside is.
  const isOfGateway = eipRef(id).kind === 'iptablesEips';
  if (isOfGateway && asked === '') return failed(unread, eip);
  const inside = isPodRuleStore(store)
    ? readPod(view, store, name)
    : object.use === 'snat'
      ? readSource(view, { ...object.rule.spec, vpc: asked }, insideField)
      : readInside(view, { ...object.rule.spec, vpc: asked }, insideField);
  if ('refusal' in inside) return failed(unread, inside);
  if (!('value' in eip)) return failed({ ...unread, vpc: isOfGateway ? asked : '' }, eip);
  const subnet = eip.value.spec.externalSubnet;
  if ('obstacle' in inside) return failed({ ...unread, subnet }, inside);
  const { vpc } = inside.value;
  const known = { ...unread, vpc, subnet };
  const insideSubnet = inside.value.subnet;
  if (!view.vpcs.has(vpc) && vpc !== defaultVpc)
    return failed(known, wait('VpcNotFound', `spec.vpc: Vpc ${vpc} does not exist: create it`), insideSubnet);
  const allocation = view.allocation(eipPort(id));
  const outside = textsOf(allocation?.v4, allocation?.v6);
  const router = view.allocation(eipPort(gatewayPortName({ vpc, subnet })));
  const ofRouter = router && textsOf(router.v4, router.v6);
  const pairs = families.flatMap((family): readonly ExternalPair[] => {
    const [from, to] = [outside[family], inside.value.texts[family]];
    const isRouted = ofRouter === undefined || ofRouter[family] !== undefined;
    return from === undefined || to === undefined || !isRouted ? [] : [{ family, outside: from, inside: to }];
  });
  if (pairs.length === 0) {
    const message = `${eipTitle(id)} and the address inside have no family in common that the router has there (${Object.values(outside).join(', ')}; ${Object.values(inside.value.texts).join(', ')}; ${Object.values(ofRouter ?? {}).join(', ')}): use an address of the other family`;
    return failed(known, refuse('FamilyMismatch', message), insideSubnet);
  }
  const verdict = { ...known, pairs: withWays(view, known, pairs) };
  const claims = claimsOf(view, store, name, verdict);
  const port = readPort(view, vpc, subnet, eip.value);
  if (!('value' in port)) return { ...failed(verdict, port, insideSubnet), claims: 'refusal' in port ? [] : claims };
  if (object.use === 'dnat') {
    const gateway = gatewayObstacle(view, vpc);
    if (!('value' in gateway)) return { ...failed(verdict, gateway, insideSubnet), claims };
  }
  if (object.use === 'fip' && isDistributed(view, object.rule)) {
    const local = readLocal(view, object.rule, inside.value, subnet);
    if (!('value' in local))
      return { ...failed(verdict, local, insideSubnet), claims: 'refusal' in local ? [] : claims };
    return { verdict: { ...verdict, local: { port: local.value, mac: allocation?.mac ?? '' } }, claims, insideSubnet };
  }
  return { verdict, claims, insideSubnet };
}
