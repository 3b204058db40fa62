/** Parses Subnets, as far as the host network and the pods of a node need them. */
import { z } from 'zod';
import { readAs } from '../../lib/api/read-as.ts';
import { gatewaysInForce, networksInForce, notedUnderlay, routingInForce } from '../../lib/api/in-force.ts';
import { isThroughRouter } from '../../lib/api/subnet-routing.ts';
import { condition, labelSelector } from '../../lib/api/kinds/shared.ts';
import { annotation, defaultProvider, defaultVpc, joinSubnet } from '../../lib/api/names.ts';
import { egressInvalid, egressRight } from '../../lib/desired/egress-tables.ts';
import type { Problem } from '../../lib/desired/problem.ts';
import type { RawObject } from '../../lib/kube/types.ts';
import { formatCidr, parseCidr } from '../../lib/net/cidr.ts';
import { bitsOf, formatIp, parseIp, familyOf } from '../../lib/net/ip.ts';
import type { CentralGateway, EgressGateway, NatRule, Subnet } from '../model/subnet.ts';
import { forwardingTable } from '../model/interconnect.ts';
import { splitList } from './address.ts';

const text = z.string().optional();
const shape = z.looseObject({
  spec: z.looseObject({
    vpc: text,
    provider: text,
    mtu: z.int().optional(),
    enableIPv6RA: z.boolean().optional(),
    natOutgoing: z.boolean().optional(),
    natOutgoingPolicyRules: z
      .array(z.looseObject({ match: z.looseObject({ srcIPs: text, dstIPs: text }).optional(), action: text }))
      .optional(),
    gatewayType: text,
    gatewayNode: text,
    gatewayNodeSelectors: z.array(labelSelector).optional(),
    externalEgressGateway: text,
    policyRoutingPriority: z.int().optional(),
    policyRoutingTableID: z.int().optional(),
  }),
  status: z.looseObject({ conditions: z.array(condition).optional().catch(undefined) }).optional(),
});
type Parsed = z.infer<typeof shape>;
type Spec = Parsed['spec'];

/**
 * Undefined for the join subnet, which is that of ovn0, and for subnets without networks in force, because these may overlap with others.
 */
export function parseSubnet(raw: RawObject): Subnet | undefined {
  const parsed = readAs(shape, raw);
  if (!parsed.success || raw.metadata.name === joinSubnet) return undefined;
  const { spec } = parsed.data;
  const networks = networksInForce(raw.metadata.annotations);
  if (networks.length === 0) return undefined;
  const routing = routingInForce(raw.metadata.annotations);
  const isOvn = isOvnProvider(spec.provider ?? '');
  const problems: Problem[] = [];
  return {
    name: raw.metadata.name,
    uid: raw.metadata.uid,
    createdMs: Date.parse(raw.metadata.creationTimestamp ?? '') || 0,
    networks: networks.map(formatCidr),
    isRouted: isThroughRouter(routing) && isOvn && [undefined, '', defaultVpc].includes(spec.vpc),
    isOverlay: routing === 'overlay' && isOvn,
    underlay: notedUnderlay(raw.metadata.annotations?.[annotation.accepted]),
    mtu: spec.mtu !== undefined && spec.mtu > 0 ? spec.mtu : undefined,
    gateways: gatewaysInForce(raw.metadata.annotations),
    hasRouterAdvertisements: spec.enableIPv6RA === true,
    routerNamespaces: parseRouterNamespaces(raw.metadata.annotations?.[annotation.routerNamespaces], problems),
    isNatOutgoing: spec.natOutgoing === true,
    natRules: (spec.natOutgoingPolicyRules ?? []).flatMap((rule, index) => parseNatRule(rule, index, problems) ?? []),
    gateway: parseGateway(spec, problems),
    egress: parseEgress(raw, parsed.data, problems),
    problems,
  };
}

// Namespaces are RFC 1123 labels.
const namespaceName = /^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/;

function parseRouterNamespaces(list: string | undefined, problems: Problem[]): readonly string[] {
  const names = splitList(list);
  const wrong = names.find((name) => name !== '*' && !namespaceName.test(name));
  if (wrong !== undefined) {
    const message = `annotation ${annotation.routerNamespaces} has ${JSON.stringify(wrong)}, which is not a namespace: give names separated by commas, or *; it allows nothing`;
    problems.push({ code: 'InvalidAnnotation', message });
  }
  return names.filter((name) => name !== wrong);
}

/** Any other provider is a network of another plugin. */
function isOvnProvider(provider: string): boolean {
  return provider === '' || provider === defaultProvider || provider.endsWith(`.${defaultProvider}`);
}

type RawRule = NonNullable<Spec['natOutgoingPolicyRules']>[number];

function parseNatRule({ match, action }: RawRule, index: number, problems: Problem[]): NatRule | undefined {
  const field = `spec.natOutgoingPolicyRules[${index}]`;
  const refuse = (what: string): undefined => {
    problems.push({ code: 'NatRuleInvalid', message: `${field}${what}; the rule is ignored` });
    return undefined;
  };
  if (action !== 'nat' && action !== 'forward')
    return refuse(`.action must be nat or forward, not ${JSON.stringify(action)}`);
  const lists = (['srcIPs', 'dstIPs'] as const).map((key) => {
    const entries = splitList(match?.[key]);
    const wrong = entries.find((entry) => networkOf(entry) === undefined);
    if (wrong !== undefined) return refuse(`.match.${key} has ${JSON.stringify(wrong)}, no address or network`);
    return entries.map((entry) => networkOf(entry)!);
  });
  const [sources, destinations] = lists;
  return sources === undefined || destinations === undefined ? undefined : { sources, destinations, action };
}

function networkOf(entry: string): string | undefined {
  const ip = parseIp(entry);
  const cidr =
    ip === undefined ? parseCidr(entry) : { family: ip.family, network: ip.value, prefix: bitsOf(ip.family) };
  return cidr === undefined ? undefined : formatCidr(cidr);
}

/** `gatewayNode` is a list of `node` or `node:address`. */
function parseGateway(spec: Spec, problems: Problem[]): CentralGateway | undefined {
  if (spec.gatewayType !== 'centralized') return undefined;
  const nodes = new Map<string, string[]>();
  for (const entry of splitList(spec.gatewayNode)) {
    const colon = entry.indexOf(':');
    const name = colon < 0 ? entry : entry.slice(0, colon);
    const addresses = nodes.get(name) ?? [];
    nodes.set(name, addresses);
    if (colon < 0) continue;
    const ip = parseIp(entry.slice(colon + 1));
    if (ip !== undefined) addresses.push(formatIp(ip));
    else {
      const message = `spec.gatewayNode has ${JSON.stringify(entry)}: the part after the node's name must be an address of the node; it is ignored`;
      problems.push({ code: 'GatewayAddressInvalid', message });
    }
  }
  return { nodes, selectors: spec.gatewayNodeSelectors ?? [] };
}

const firstReservedTable = 253;
const lastReservedTable = 255;
/** Priority of the rule for the main table; our rules must come before it. */
const mainRulePriority = 32766;

function parseEgress(
  { metadata }: RawObject,
  { spec, status }: Parsed,
  problems: Problem[],
): EgressGateway | undefined {
  const nextHops = splitList(spec.externalEgressGateway);
  if (nextHops.length === 0) return undefined;
  const refuse = (what: string): undefined => {
    problems.push({ code: egressInvalid, message: `${what}; externalEgressGateway has no effect` });
    return undefined;
  };
  const { policyRoutingPriority: priority = 0, policyRoutingTableID: table = 0 } = spec;
  const wrong = nextHops.find((address) => parseIp(address) === undefined);
  if (wrong !== undefined)
    return refuse(`spec.externalEgressGateway has ${JSON.stringify(wrong)}, which is not an IP address`);
  if (new Set(nextHops.map(familyOf)).size < nextHops.length)
    return refuse('spec.externalEgressGateway must have at most one address of each family');
  if (priority < 1 || priority >= mainRulePriority)
    return refuse(`spec.policyRoutingPriority must be from 1 to ${mainRulePriority - 1}, not ${priority}`);
  if (table < 1 || (table >= firstReservedTable && table <= lastReservedTable))
    return refuse(
      `spec.policyRoutingTableID must be above 0 and none of the kernel's own tables ${firstReservedTable} to ${lastReservedTable}, not ${table}`,
    );
  if (table === forwardingTable)
    return refuse(`spec.policyRoutingTableID ${table} is reserved for prefixes of other clusters: use another`);
  if (spec.natOutgoing === true)
    return refuse('spec.externalEgressGateway and spec.natOutgoing cannot be used together: set only one of them');
  const right = egressRight({ generation: metadata.generation ?? 0, conditions: status?.conditions ?? [] });
  return { nextHops, priority, table, right };
}
