/** Decides about one VpcEgressGateway by itself: its networks, the nodes of its ports, and what it waits for. Pure. */
import { annotation } from '../../../lib/api/names.ts';
import { matchesSelector } from '../../../lib/api/label-selector.ts';
import type { Problem } from '../../../lib/desired/problem.ts';
import { formatCidr, parseCidr } from '../../../lib/net/cidr.ts';
import type { Cidr } from '../../../lib/net/cidr.ts';
import { bitsOf, parseIp, type Family } from '../../../lib/net/ip.ts';
import { digestName } from '../../../lib/ovn/digest-name.ts';
import { nodeLabels, vpcOfGateway } from '../../model/egress-gateway.ts';
import type { EgressGateway, EgressNetwork, VpcEgressGateway } from '../../model/egress-gateway.ts';
import { podKey } from '../../model/objects.ts';
import { hasRouterPort, routingInForce } from '../../model/net-in-force.ts';
import type { Node } from '../../model/objects.ts';
import type { View } from '../../model/view.ts';
import { hasBridge } from '../external/gateway-order.ts';
import { overlapProblem, subnetProblem } from '../external/gateway-port.ts';
import { servedNet } from '../subnet/served-net.ts';
import { hasRouter } from '../vpc/routers.ts';

/** The nodes of a port; more would be BFD sessions without any use. */
const mostNodes = 5;

/** The most rows that translate, of all ports. A small network without `snat` in a large one with it costs one for each bit of the difference. */
const mostTranslations = 20_000;

type Judged = Omit<EgressGateway, 'link'>;
type Ports = EgressGateway['ports'];

function refusalOf({ needsPods, unsupported, spec }: VpcEgressGateway): Problem | undefined {
  const list = (fields: readonly string[]): string => fields.map((field) => `spec.${field}`).join(', ');
  if (needsPods.length > 0)
    return {
      code: 'NeedsPods',
      message: `${list(needsPods)}: OVN itself translates and forwards, there is no pod in the path that could do this: remove it`,
    };
  if (unsupported.length > 0)
    return { code: 'NotSupported', message: `${list(unsupported)} cannot be served by this release: remove it` };
  if (spec.externalSubnet === '')
    return { code: 'NoExternalSubnet', message: 'spec.externalSubnet: name a Subnet outside' };
  for (const block of spec.policies.flatMap(({ ipBlocks }) => ipBlocks))
    if (cidrOf(block) === undefined)
      return { code: 'InvalidAddress', message: `spec.policies: '${block}' is neither an address nor a CIDR` };
  return undefined;
}

function cidrOf(text: string): Cidr | undefined {
  const ip = parseIp(text);
  return ip === undefined ? parseCidr(text) : { family: ip.family, network: ip.value, prefix: bitsOf(ip.family) };
}

interface Networks {
  readonly networks: readonly EgressNetwork[];
  readonly lack: Problem | undefined;
}

/** Networks of all policies, each once; one that any policy translates is translated. */
function networksOf(view: View, gateway: VpcEgressGateway): Networks {
  const found = new Map<string, EgressNetwork>();
  let lack: Problem | undefined;
  for (const { isTranslated, ipBlocks, subnets } of gateway.spec.policies) {
    const add = (cidr: Cidr): void => {
      const text = formatCidr(cidr);
      const { isTranslated: is = false } = found.get(text) ?? {};
      found.set(text, { family: cidr.family, cidr: text, isTranslated: is || isTranslated });
    };
    for (const block of ipBlocks) {
      const cidr = cidrOf(block);
      if (cidr !== undefined) add(cidr);
    }
    for (const name of subnets) {
      const net = servedNet(view, name);
      const isOwn = net !== undefined && view.verdicts.get(name)?.vpc === vpcOfGateway(gateway);
      if (isOwn) for (const part of [net.v4, net.v6]) if (part !== undefined) add(part.cidr);
      const message = `spec.policies: Subnet ${name} is not in force in Vpc ${vpcOfGateway(gateway)}, and nothing else is missing: create it, or remove it from the list`;
      if (!isOwn) lack ??= { code: 'SubnetNotReady', message };
      else if (!hasRouterPort(net)) {
        const past = `spec.policies: packets of Subnet ${name} go to a router of the physical network and never reach the gateway: remove it from the list`;
        lack ??= { code: 'SubnetNotReady', message: past };
      }
    }
  }
  return { networks: [...found.values()].sort((a, b) => (a.cidr < b.cidr ? -1 : 1)), lack };
}

interface Candidate {
  readonly node: string;
  readonly chassis: string;
}

function candidatesOf(view: View, { spec }: VpcEgressGateway, provider: string): readonly Candidate[] {
  const isSelected = (node: Node): boolean =>
    spec.nodeSelectors.length === 0 || spec.nodeSelectors.some((one) => matchesSelector(one, nodeLabels(node)));
  const known = new Set<string>();
  return [...view.nodes.values()].flatMap((node) => {
    const chassis = node.annotations[annotation.chassis] ?? '';
    const isFit = chassis !== '' && hasBridge(node, provider) && isSelected(node);
    // Two nodes with one chassis are a mistake that would make two rows of one name.
    if (!isFit || known.has(chassis)) return [];
    known.add(chassis);
    return [{ node: node.name, chassis }];
  });
}

/** Not less than the rows that translate, of one port. */
function translationsOf(networks: readonly EgressNetwork[], hasSelectors: boolean): number {
  const of = (family: Family): number => {
    const prefixes = (isTranslated: boolean): readonly number[] =>
      networks
        .filter((one) => one.family === family && one.isTranslated === isTranslated)
        .map(({ cidr }) => parseCidr(cidr)?.prefix ?? 0);
    const wanted = [...(hasSelectors ? [0] : []), ...prefixes(true)];
    const widest = Math.min(...wanted);
    const parts = prefixes(false).map((prefix) => (prefix > widest ? prefix - widest : 0));
    return wanted.length + parts.reduce((sum, count) => sum + count, 0);
  };
  return of(4) + of(6);
}

function countProblem({ spec }: VpcEgressGateway, networks: readonly EgressNetwork[]): Problem | undefined {
  const count = translationsOf(networks, spec.selectors.length > 0) * spec.replicas;
  if (count <= mostTranslations) return undefined;
  const message = `spec.policies: its networks need up to ${count} rows in OVN, of which a gateway may have ${mostTranslations}: name fewer and wider networks, above all with snat: false, or lower spec.replicas`;
  return { code: 'TooManyNetworks', message };
}

/** Each port has an order of its own. A node that comes or goes changes the first node of as few ports as possible. */
function portsOf(gateway: VpcEgressGateway, candidates: readonly Candidate[]): Ports {
  const { replicas, isSpread } = gateway.spec;
  const count = isSpread ? Math.min(replicas, candidates.length) : replicas;
  const used = new Map<string, number>();
  return Array.from({ length: candidates.length === 0 ? 0 : count }, (_, index) => {
    const rank = ({ node }: Candidate): string => digestName(podKey(gateway), String(index), node);
    const order = [...candidates].sort((a, b) => (rank(a) < rank(b) ? -1 : 1));
    const [least] = order.map(({ node }) => used.get(node) ?? 0).sort((a, b) => a - b);
    const first = order.find(({ node }) => (used.get(node) ?? 0) === least);
    if (first === undefined) return [];
    used.set(first.node, (least ?? 0) + 1);
    return [first, ...order.filter((one) => one !== first)].slice(0, mostNodes);
  });
}

function placeProblem(view: View, gateway: VpcEgressGateway): Problem | undefined {
  const vpc = vpcOfGateway(gateway);
  const { externalSubnet, externalIPPool } = gateway.spec;
  const object = view.vpcs.get(vpc);
  if (object === undefined || !hasRouter(view, vpc))
    return { code: 'VpcNotFound', message: `spec.vpc: Vpc ${vpc} does not exist: create it` };
  const net = servedNet(view, externalSubnet);
  const problem =
    subnetProblem(view, externalSubnet, 'spec.externalSubnet') ?? (net && overlapProblem(view, object, net));
  if (problem !== undefined) return problem;
  if (routingInForce(net) === 'nodes') {
    const message = `Subnet ${externalSubnet} is in a ProviderNetwork with routedByNodes, and addresses of VpcEgressGateways are not announced by BGP: name a Subnet in spec.externalSubnet whose ProviderNetwork has an interface`;
    return { code: 'NoExternalSubnet', message };
  }
  const pool = externalIPPool === '' ? undefined : view.ipPools.get(externalIPPool);
  if (pool === undefined || pool.spec.subnet === externalSubnet) return undefined;
  const message = `spec.externalIPPool: IPPool ${externalIPPool} is of Subnet ${pool.spec.subnet}, not of ${externalSubnet}: name another`;
  return { code: 'IPPoolNotReady', message };
}

function nodeProblem({ spec }: VpcEgressGateway, provider: string): Problem {
  const which = spec.nodeSelectors.length === 0 ? '' : ' and that spec.nodeSelector selects';
  const message = `no node can hold a port: it needs nodes that have ProviderNetwork ${provider}${which}`;
  return { code: 'NoGatewayNode', message };
}

/** What is missing while the ports there are work. */
function lackOf({ spec }: VpcEgressGateway, ports: Ports): Problem | undefined {
  if (ports.length < spec.replicas) {
    const message = `${ports.length} of ${spec.replicas} ports have a node: add nodes, lower spec.replicas, or set spec.podAntiAffinity: Preferred so that ports share nodes`;
    return { code: 'FewerNodes', message };
  }
  return undefined;
}

/** Without regard to other gateways. */
export function judgeAlone(view: View, gateway: VpcEgressGateway): Judged {
  const { networks, lack: missing } = networksOf(view, gateway);
  const { externalSubnet: subnet, selectors, isClosed, replicas } = gateway.spec;
  const vpc = vpcOfGateway(gateway);
  const none = { vpc, subnet, ports: [], networks, hasSelectors: selectors.length > 0, isClosed };
  const refusal = refusalOf(gateway) ?? countProblem(gateway, networks);
  if (refusal !== undefined) return { ...none, refusal };
  const place = placeProblem(view, gateway);
  if (place !== undefined) return { ...none, obstacle: place };
  if (replicas === 0) return { ...none, obstacle: { code: 'NoReplicas', message: 'spec.replicas is 0' } };
  const provider = servedNet(view, subnet)?.underlay?.provider ?? '';
  const ports = portsOf(gateway, candidatesOf(view, gateway, provider));
  if (ports.length === 0) return { ...none, obstacle: nodeProblem(gateway, provider) };
  const lack = missing ?? lackOf(gateway, ports);
  return { ...none, ports, ...(lack && { lack }) };
}

/** The properties of a node that ports depend on. */
export function egressNodeText(node: Node | undefined): string {
  return node === undefined ? '' : JSON.stringify([node.labels, node.annotations[annotation.chassis] ?? '']);
}
