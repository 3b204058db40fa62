import type { Problem } from '../../../lib/desired/problem.ts';
import { cidrContains } from '../../../lib/net/cidr.ts';
import { formatIp, parseIp } from '../../../lib/net/ip.ts';
import type { Ip } from '../../../lib/net/ip.ts';
import type { SubnetNet } from '../../ipam/subnet-pool.ts';
import { egressConflict, egressInvalid, egressRight } from '../../../lib/desired/egress-tables.ts';
import { byRight } from '../../../lib/desired/rights.ts';
import type { Subnet, SubnetSpec } from '../../model/objects.ts';
import type { View } from '../../model/view.ts';
import { isOfNodes, isThroughNodes, partsOf } from '../../settle/gateway/scope.ts';

/** Priority of Linux's rule that leads to the main table. Rules of Isthmus must come before it. */
const mainRulePriority = 32_766;
/** The kernel's own: default, main and local. */
const reservedTables: readonly number[] = [253, 254, 255];

/** Next hops of the user's own, outside of the cluster; undefined if one is not an address. */
function nextHopsOf({ externalEgressGateway: text }: SubnetSpec): readonly Ip[] | undefined {
  const hops = partsOf(text).map(parseIp);
  return hops.includes(undefined) ? undefined : hops.flatMap((hop) => hop ?? []);
}

function hopObstacle(spec: SubnetSpec, net: SubnetNet | undefined): string | undefined {
  const hops = nextHopsOf(spec);
  const field = 'spec.externalEgressGateway';
  if (hops === undefined) {
    const wrong = partsOf(spec.externalEgressGateway).find((part) => parseIp(part) === undefined);
    return `${field}: '${wrong}' is not an IP address`;
  }
  if (new Set(hops.map(({ family }) => family)).size < hops.length)
    return `${field} has two addresses of one family: keep one of each`;
  for (const hop of hops) {
    const part = hop.family === 4 ? net?.v4 : net?.v6;
    if (net === undefined) continue;
    if (part === undefined) return `${field}: ${formatIp(hop)} is of a family spec.cidrBlock does not have`;
    if (cidrContains(part.cidr, hop))
      return `${field}: ${formatIp(hop)} is an address of the subnet itself: name a router outside of the cluster`;
  }
  return undefined;
}

function settingObstacle({
  policyRoutingPriority: priority,
  policyRoutingTableID: table,
  natOutgoing,
}: SubnetSpec): string | undefined {
  if (priority < 1 || priority >= mainRulePriority)
    return `spec.policyRoutingPriority must be from 1 to ${mainRulePriority - 1} with externalEgressGateway, not ${priority}`;
  if (table < 1 || reservedTables.includes(table))
    return `spec.policyRoutingTableID must be above 0 and none of ${reservedTables.join(', ')} with externalEgressGateway, not ${table}`;
  if (natOutgoing) return 'spec.natOutgoing and spec.externalEgressGateway cannot be used together: remove one of them';
  return undefined;
}

function hasEgress(view: View, subnet: Subnet): boolean {
  return subnet.spec.externalEgressGateway !== '' && isThroughNodes(view, subnet);
}

const inOrder = byRight(egressRight);

/** An earlier subnet with the same table and another gateway: a table has one default route of each family. */
function tableHolder(view: View, subnet: Subnet): { readonly subnet: Subnet; readonly hop: Ip } | undefined {
  const hops = nextHopsOf(subnet.spec) ?? [];
  for (const other of view.subnets.values()) {
    const isElsewhere = other.spec.policyRoutingTableID !== subnet.spec.policyRoutingTableID || !hasEgress(view, other);
    if (other.name === subnet.name || isElsewhere || inOrder(other, subnet) > 0) continue;
    const theirs = nextHopsOf(other.spec) ?? [];
    const hop = theirs.find(({ family, value }) => hops.some((own) => own.family === family && own.value !== value));
    if (hop !== undefined) return { subnet: other, hop };
  }
  return undefined;
}

/** Problems that keep a subnet's traffic from the user's own gateway. */
export function egressProblems(view: View, subnet: Subnet): readonly Problem[] {
  const { spec, name } = subnet;
  const refuse = (message: string): readonly Problem[] => [{ code: egressInvalid, message }];
  if (spec.externalEgressGateway === '') return [];
  if (!isThroughNodes(view, subnet))
    return refuse(
      'spec.externalEgressGateway has no effect: nodes are gateways only for first interfaces in Vpc ovn-cluster, and not for subnets whose gateway is a physical router; remove it',
    );
  const obstacle = hopObstacle(spec, view.verdicts.get(name)?.net) ?? settingObstacle(spec);
  if (obstacle !== undefined) return refuse(obstacle);
  const holder = tableHolder(view, subnet);
  if (holder === undefined) return [];
  const table = spec.policyRoutingTableID;
  const message = `spec.policyRoutingTableID: table ${table} leads to ${formatIp(holder.hop)} for subnet ${holder.subnet.name}, which had it first: use another table`;
  return [{ code: egressConflict, message }];
}

function egressText(subnet: Subnet | undefined): string {
  if (subnet === undefined || !isOfNodes(subnet) || subnet.spec.externalEgressGateway === '') return '';
  return `${subnet.uid} ${subnet.spec.policyRoutingTableID} ${subnet.spec.externalEgressGateway}`;
}

/** Subnets with a table in common with one that changed. */
export function* sharersOfTable(view: View, before: Subnet | undefined, after: Subnet | undefined): Generator<string> {
  if (egressText(before) === egressText(after)) return;
  const tables = [before, after].flatMap((one) => (one === undefined ? [] : [one.spec.policyRoutingTableID]));
  for (const other of view.subnets.values()) {
    if (hasEgress(view, other) && tables.includes(other.spec.policyRoutingTableID)) yield other.name;
  }
}
