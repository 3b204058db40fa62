import { defaultVpc, externalId, joinSubnet, nodePortName } from '../../../lib/api/names.ts';
import type { Contribution, Desired, DesiredRow } from '../../../lib/desired/row.ts';
import { cidrContains } from '../../../lib/net/cidr.ts';
import type { Cidr } from '../../../lib/net/cidr.ts';
import { formatIp, parseIp } from '../../../lib/net/ip.ts';
import type { Allocation } from '../../ipam/subnet-pool.ts';
import { partsOf } from '../../model/net-parts.ts';
import { nodeAddresses, nodeTraits } from '../../model/node-traits.ts';
import type { Node } from '../../model/objects.ts';
import { clusterNodePortGroup, nodeAddressSet, nodePortGroup } from '../../model/ovn-names.ts';
import type { View } from '../../model/view.ts';
import { joinAllocation, serviceAllocation } from '../../settle/node/join.ts';
import { nodesInClusters, nodesInLan } from '../../settle/node/network-owner.ts';
import { heldBy, holds, servedAddresses } from '../../settle/node/traits.ts';
import { portAddresses } from '../address/texts.ts';
import { aclRow, portGroupRow } from '../acl-tier/port-group-acl.ts';
import type { Feature } from '../feature.ts';
import { exemptionAcl } from '../cluster-policy/acl.ts';
import { policyAclOf } from '../network-policy/policy-acl.ts';
import { matchFamily, policyPriority, vendorIds } from '../names.ts';
import { nodeRateRows } from './rates.ts';
import { reportNode } from './report.ts';

const families = [4, 6] as const;

/** A node's port in the join subnet with its limits, and the policies that send traffic for the node's own addresses there. */
function planNode(view: View, name: string): Desired {
  const node = view.nodes.get(name);
  if (node === undefined) return { rows: [] };
  const allocation = joinAllocation(view, name);
  const group = portGroup(view, node, allocation);
  if (allocation === undefined) return { rows: group };
  const policies = nodePolicies(view, node, allocation);
  const named = new Set(policies.flatMap(({ table, columns }) => heldBy(table, columns)));
  const withheld = nodeAddresses(node).filter((address) => holds(view, name, address) && !named.has(address));
  const port: DesiredRow = {
    table: 'Logical_Switch_Port',
    key: nodePortName(name),
    columns: {
      addresses: [portAddresses(allocation, serviceAllocation(view, name))],
      external_ids: {
        ...vendorIds,
        ...(withheld.length > 0 && { [externalId.withheldAddresses]: withheld.join(' ') }),
      },
    },
    parent: { table: 'Logical_Switch', key: joinSubnet, column: 'ports' },
  };
  return { rows: [...group, port, ...nodeRateRows(node), ...policies], contributions: addressSets(policies) };
}

/**
 * The ports of the node's pods that policies select, which the node itself reaches for probes: by the addresses that no pod or network may have.
 * None if another node has the name: the port of this one must not be lost over it.
 */
function portGroup(view: View, node: Node, join: Allocation | undefined): readonly DesiredRow[] {
  const { name } = node;
  const key = nodePortGroup(name);
  if (!holds(view, name, key)) return [];
  const ids = { ...vendorIds, node: name, np: `node/${name}` };
  const own = [join?.v4, join?.v6, ...servedAddresses(view, node)].flatMap((text) => parseIp(text ?? '') ?? []);
  const { capabilities } = view;
  // Security groups are below policies of the whole cluster and above NetworkPolicies. A match with a group that has no ports anywhere is no match for OVN.
  const ofCluster = capabilities.aclTier ? undefined : clusterNodePortGroup(name);
  const acls = families.flatMap((family) => {
    const addresses = own.filter((ip) => ip.family === family).map(formatIp);
    if (addresses.length === 0) return [];
    const ip = matchFamily(family);
    const from = (group: string): string =>
      `outport == @${group} && ${ip} && ${ip}.src == {${[...new Set(addresses)].join(', ')}}`;
    if (ofCluster === undefined) return [aclRow(key, exemptionAcl(capabilities, 'ingress', from(key)))];
    return [
      aclRow(key, policyAclOf(capabilities, 'ingress', 'base', from(key))),
      aclRow(ofCluster, exemptionAcl(capabilities, 'ingress', from(ofCluster))),
    ];
  });
  const groups = ofCluster === undefined ? [key] : [key, ofCluster];
  return [...groups.map((group) => portGroupRow(group, ids)), ...acls];
}

function nodePolicies(view: View, node: Node, allocation: Allocation): readonly DesiredRow[] {
  // Two policies of one match would take turns.
  return servedAddresses(view, node).flatMap((address): DesiredRow[] => {
    const ip = parseIp(address);
    const hop = ip?.family === 4 ? allocation.v4 : allocation.v6;
    if (ip === undefined || hop === undefined) return [];
    return [
      {
        table: 'Logical_Router_Policy',
        key: `node/${node.name}/${address}`,
        columns: {
          priority: policyPriority.nodeLocal,
          match: `${matchFamily(ip.family)}.dst == ${address}`,
          action: 'reroute',
          nexthops: [hop],
          external_ids: { ...vendorIds, node: node.name, 'address-family': String(ip.family) },
        },
        parent: { table: 'Logical_Router', key: defaultVpc, column: 'policies' },
      },
    ];
  });
}

/** Addresses with a policy are those that lead to the node. */
function addressSets(policies: readonly DesiredRow[]): readonly Contribution[] {
  const addresses = policies.flatMap(({ table, columns }) => heldBy(table, columns));
  return families.flatMap((family): readonly Contribution[] => {
    const values = addresses.filter((address) => parseIp(address)?.family === family);
    if (values.length === 0) return [];
    return [{ table: 'Address_Set', key: nodeAddressSet(family), column: 'addresses', values }];
  });
}

function nodesWithin(view: View, cidrs: readonly Cidr[]): readonly string[] {
  const isInside = (address: string): boolean => {
    const ip = parseIp(address);
    return ip !== undefined && cidrs.some((cidr) => cidrContains(cidr, ip));
  };
  return [...view.nodes.values()].filter(({ addresses }) => addresses.some(isInside)).map(({ name }) => name);
}

export const nodeFeature: Feature = {
  name: 'node',
  all: (view) => view.nodes.keys(),
  reads(change, view) {
    if (change.kind === 'nodes') {
      const traits = [change.before, change.after].flatMap((node) => (node === undefined ? [] : nodeTraits(node)));
      return new Set([change.name, ...traits.flatMap((trait) => [...view.indexes.nodesByTrait.of(trait)])]);
    }
    if (change.kind === 'tunnels') return [change.name];
    if (change.kind === 'ports' && /^node(?:-service)?\//.test(change.name))
      return [change.name.slice(change.name.indexOf('/') + 1)];
    if (change.kind === 'verdicts' && change.name === joinSubnet) return view.nodes.keys();
    if (change.kind === 'verdicts') {
      const nets = [change.before?.net, change.after?.net].filter((net) => net !== undefined);
      return nodesWithin(
        view,
        nets.flatMap((net) => partsOf(net).map(({ cidr }) => cidr)),
      );
    }
    if (change.kind === 'transitSwitches')
      return nodesWithin(view, [...(change.before?.cidrs ?? []), ...(change.after?.cidrs ?? [])]);
    if (change.kind === 'remoteClusters') return nodesInClusters(view, [change.before, change.after]);
    return change.kind === 'usage' ? nodesInLan(view, change.name) : [];
  },
  plan: planNode,
  report: reportNode,
};
