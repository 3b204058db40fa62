import { z } from 'zod';
import { condition, labelSelector, mapList, rules, type Kind } from './shared.ts';

const interfaceName = z
  .string()
  .min(1)
  .max(15)
  .regex(/^[^/\s]+$/);
const nodeNames = z.array(z.string().max(253)).max(1000);

export const providerNetworkSpec = z.object({
  defaultInterface: interfaceName
    .describe(
      'Interface of each node that is joined to the bridge `br-<name>`. Its addresses and routes move to the bridge. Needed unless `routedByNodes` is true.',
    )
    .optional(),
  routedByNodes: z
    .boolean()
    .describe(
      'The network has no wire: no interface joins the bridge `br-<name>`, which has the gateway addresses of the Subnets instead, and nodes route between these and their other networks. Routers outside know the addresses by BGP. What VPCs reach by it is up to the firewalls of the nodes.',
    )
    .optional(),
  customInterfaces: z
    .array(
      z.object({
        interface: interfaceName,
        nodes: nodeNames.min(1).describe('Nodes that have this interface instead of `defaultInterface`.'),
      }),
    )
    .max(64)
    .describe('Interfaces of nodes where `defaultInterface` is another one.')
    .optional(),
  excludeNodes: nodeNames.describe('Nodes without this network.').optional(),
  nodeSelector: labelSelector.describe('Nodes with this network; all of them by default.').optional(),
  exchangeLinkName: z
    .boolean()
    .describe(
      'The bridge takes the name of the interface, and the interface that of the bridge, so that what names the interface finds its addresses.',
    )
    .meta(
      rules({
        rule: 'self == oldSelf',
        message: 'exchangeLinkName is fixed; delete the provider network and create it again',
      }),
    )
    .optional(),
  autoCreateVlanSubinterfaces: z
    .boolean()
    .describe('VLAN interfaces of `vlanInterfaces` that a node lacks are made there first.')
    .optional(),
  preserveVlanInterfaces: z
    .boolean()
    .describe(
      'VLAN interfaces on the interface become ports of the bridge, with their addresses and routes. If false, an interface with VLAN interfaces is refused.',
    )
    .optional(),
  vlanInterfaces: z
    .array(interfaceName)
    .max(64)
    .describe('VLAN interfaces to take over, such as `eth1.10`; by default all on the interface.')
    .optional(),
});

export const providerNetworkStatus = z.object({
  conditions: z
    .array(condition.extend({ node: z.string().max(253).default('') }))
    .max(4000)
    .meta(mapList('type', 'node'))
    .describe('Conditions of the network, and of the network on each node.')
    .optional(),
  ready: z.boolean().describe('Whether every node of the network is ready.').optional(),
  readyNodes: nodeNames.optional(),
  notReadyNodes: nodeNames.optional(),
  vlans: z.array(z.string()).describe('Vlan objects of the network.').optional(),
});

export type ProviderNetworkSpec = z.infer<typeof providerNetworkSpec>;
export type ProviderNetworkStatus = z.infer<typeof providerNetworkStatus>;

export const providerNetworkKind: Kind = {
  group: 'kubeovn.io',
  version: 'v1',
  kind: 'ProviderNetwork',
  plural: 'provider-networks',
  singular: 'provider-network',
  shortNames: ['pn'],
  scope: 'Cluster',
  spec: providerNetworkSpec,
  status: providerNetworkStatus,
  hasStatusSubresource: true,
  description:
    'A physical network that an interface of the nodes leads to, or one that nodes route to themselves. Underlay subnets are in its Vlans. With the annotation `isthmus.network/dry-run: "true"` nodes only report what they would do.',
  columns: [
    { name: 'DefaultInterface', type: 'string', path: '.spec.defaultInterface' },
    { name: 'Ready', type: 'boolean', path: '.status.ready' },
    {
      name: 'Reason',
      type: 'string',
      path: '.status.conditions[?(@.node=="")].reason',
    },
    { name: 'Vlans', type: 'string', path: '.status.vlans', priority: 1 },
    { name: 'NotReadyNodes', type: 'string', path: '.status.notReadyNodes', priority: 1 },
  ],
  rules: [
    { rule: 'has(self.spec)', message: 'spec is needed, with a defaultInterface or routedByNodes' },
    {
      rule: '!has(self.spec) || has(self.spec.defaultInterface) != (has(self.spec.routedByNodes) && self.spec.routedByNodes)',
      message: 'the network needs either a defaultInterface or routedByNodes: true',
    },
    {
      rule: '!has(self.spec) || !has(oldSelf.spec) || (has(self.spec.routedByNodes) && self.spec.routedByNodes) == (has(oldSelf.spec.routedByNodes) && oldSelf.spec.routedByNodes)',
      message: 'routedByNodes is fixed; delete the provider network and create it again',
    },
    {
      rule: 'self.metadata.name.size() <= 12',
      message: 'the name may have 12 characters: `br-<name>` is the name of an interface',
    },
  ],
};
