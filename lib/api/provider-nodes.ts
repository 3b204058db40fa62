/** Nodes of a provider network, with their interfaces: common to the daemon, which connects the node, and the controller, which reports it. Pure. */
import type { ProviderNetworkSpec } from './kinds/provider-network.ts';
import { matchesSelector } from './label-selector.ts';
import { providerBridge, providerNetworkKey } from './names.ts';

export type ProviderNodeSpec = Pick<
  ProviderNetworkSpec,
  'defaultInterface' | 'routedByNodes' | 'customInterfaces' | 'excludeNodes' | 'nodeSelector'
>;

/** The interface that joins a node to the network (the bridge itself of a network that nodes route to), or a sentence why the node is without it. */
export type ProviderNode = { readonly interface: string } | { readonly absence: string };

export interface ProviderNetworkOnNode {
  readonly network: { readonly name: string; readonly spec: ProviderNodeSpec };
  readonly node: { readonly name: string; readonly labels: Readonly<Record<string, string>> };
}

/** A node named twice in `customInterfaces` has the interface of the first entry. */
export function providerNode({ network: { name, spec }, node }: ProviderNetworkOnNode): ProviderNode {
  const exclusion = providerNetworkKey(name, 'exclude');
  if (spec.excludeNodes?.includes(node.name) === true)
    return { absence: `spec.excludeNodes of ProviderNetwork ${name} names node ${node.name}` };
  if (node.labels[exclusion] === 'true') return { absence: `node ${node.name} has the label ${exclusion}=true` };
  if (spec.nodeSelector !== undefined && !matchesSelector(spec.nodeSelector, node.labels))
    return { absence: `spec.nodeSelector of ProviderNetwork ${name} does not match the labels of node ${node.name}` };
  if (spec.routedByNodes === true) return { interface: providerBridge(name) };
  const custom = spec.customInterfaces?.find(({ nodes }) => nodes.includes(node.name));
  return { interface: custom?.interface ?? spec.defaultInterface ?? '' };
}
