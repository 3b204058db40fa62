import { z } from 'zod';
import { addressField } from './address.ts';
import { ageColumn, conditions, reasonColumn, type Kind } from './shared.ts';

const subnetName = z.string().max(63);

const anyObject = z.looseObject({});

const unserved = 'Not served, and named in the condition Validated';

export const vpcNatGatewaySpec = z.object({
  vpc: z.string().max(253).describe('The VPC whose router becomes the gateway. `ovn-cluster` by default.').optional(),
  subnet: subnetName.describe('The Subnet of the VPC that `lanIp` is from.').optional(),
  lanIp: addressField('lanIp')
    .describe(
      'An address of `subnet` that is kept free. A route of the Vpc with this next hop leads to the gateway of the first of the `externalSubnets`.',
    )
    .optional(),
  externalSubnets: z
    .array(subnetName)
    .max(16)
    .describe('The Subnets outside that the router is connected with. `ovn-vpc-external-network` by default.')
    .optional(),
  selector: z
    .array(z.string().max(320))
    .max(16)
    .describe(
      'Labels, `key:value` each, of the nodes that may be the gateway. By default those with the label `ovn.kubernetes.io/external-gw=true`.',
    )
    .optional(),
  affinity: anyObject
    .describe(
      'The `matchExpressions` of the required node affinity choose nodes as `selector` does. Other parts are not served, and named in the condition Validated.',
    )
    .optional(),
  tolerations: z.array(anyObject).max(64).describe('Have no effect, as there is no pod.').optional(),
  namespace: z.string().max(63).describe('Of the pod. Has no effect, as there is none.').optional(),
  replicas: z
    .int()
    .min(1)
    .describe('Has no effect: any of the nodes can be the gateway, up to five, and one is at a time.')
    .optional(),
  noDefaultEIP: z
    .boolean()
    .describe('Has no effect: the router has an address in each Subnet outside, which no rule uses by itself.')
    .optional(),
  qosPolicy: z
    .string()
    .max(253)
    .describe('The QoSPolicy, of binding type NATGW, that limits traffic of the gateway.')
    .optional(),
  routes: z
    .array(
      z.object({
        cidr: z.string().max(64).optional(),
        nextHopIP: z.string().max(64).optional(),
      }),
    )
    .max(64)
    .describe(
      `${unserved}, except those with the next hop \`gateway\`, which the router of the VPC needs not: write the others into \`staticRoutes\` of the Vpc.`,
    )
    .optional(),
  internalSubnets: z
    .array(subnetName)
    .max(256)
    .describe(`${unserved}: the rules of the gateway say whose packets leave by it.`)
    .optional(),
  internalCIDRs: z.array(z.string().max(64)).max(256).describe(`${unserved}, as \`internalSubnets\`.`).optional(),
  annotations: z.record(z.string(), z.string().max(4096)).describe(`${unserved}: they are for the pod.`).optional(),
  bgpSpeaker: z
    .object({
      enabled: z.boolean().optional(),
      asn: z.int().optional(),
      remoteAsn: z.int().optional(),
      neighbors: z.array(z.string().max(64)).max(64).optional(),
      holdTime: z.string().max(32).optional(),
      routerId: z.string().max(64).optional(),
      password: z.string().max(256).optional(),
      enableGracefulRestart: z.boolean().optional(),
      extraArgs: z.array(z.string().max(256)).max(64).optional(),
    })
    .describe(`${unserved} if it is enabled: use a BgpPeer, and a BgpAdvertisement with the source \`Eip\`.`)
    .optional(),
  bfd: z
    .object({
      enabled: z.boolean().optional(),
      minRX: z.int().optional(),
      minTX: z.int().optional(),
      multiplier: z.int().optional(),
    })
    .describe('Has no effect: gateway nodes watch each other by the BFD of OVN.')
    .optional(),
});

export const vpcNatGatewayStatus = z.object({
  conditions: conditions.optional(),
  ready: z.boolean().describe('The router of the VPC has a port in each Subnet outside.').optional(),
  lanIp: z.string().max(64).describe('The address that is kept free.').optional(),
  externalSubnets: z.array(subnetName).describe('The Subnets outside in which the router has a port.').optional(),
  replicas: z.int().describe('How many nodes can be the gateway.').optional(),
  qosPolicy: z.string().max(253).describe('The QoSPolicy in force.').optional(),
  workload: z
    .object({
      apiVersion: z.string().max(64).optional(),
      kind: z.string().max(64).optional(),
      name: z.string().max(253).optional(),
      nodes: z.array(z.string().max(253)).optional(),
    })
    .describe('The Vpc whose router is the gateway, and the nodes that may hold its ports.')
    .optional(),
  selector: z.array(z.string().max(320)).describe('Written by Kube-OVN.').optional(),
  tolerations: z.array(anyObject).describe('Written by Kube-OVN.').optional(),
  affinity: anyObject.describe('Written by Kube-OVN.').optional(),
  internalSubnets: z.array(subnetName).describe('Written by Kube-OVN.').optional(),
  internalCIDRs: z.array(z.string().max(64)).describe('Written by Kube-OVN.').optional(),
});

export type VpcNatGatewaySpec = z.infer<typeof vpcNatGatewaySpec>;
export type VpcNatGatewayStatus = z.infer<typeof vpcNatGatewayStatus>;

export const vpcNatGatewayKind: Kind = {
  group: 'kubeovn.io',
  version: 'v1',
  kind: 'VpcNatGateway',
  plural: 'vpc-nat-gateways',
  singular: 'vpc-nat-gateway',
  shortNames: ['vpc-nat-gw'],
  scope: 'Cluster',
  spec: vpcNatGatewaySpec,
  status: vpcNatGatewayStatus,
  hasStatusSubresource: true,
  description:
    'Connects a VPC with Subnets outside, for IptablesEIPs and their rules. The router of the VPC is the gateway.',
  columns: [
    { name: 'Namespace', type: 'string', path: '.spec.namespace', priority: 1 },
    { name: 'Vpc', type: 'string', path: '.spec.vpc' },
    { name: 'Subnet', type: 'string', path: '.spec.subnet' },
    { name: 'IPs', type: 'string', path: '.status.lanIp' },
    { name: 'Replicas', type: 'integer', path: '.status.replicas' },
    { name: 'Ready', type: 'boolean', path: '.status.ready' },
    reasonColumn(),
    { name: 'BFD', type: 'boolean', path: '.spec.bfd.enabled', priority: 1 },
    ageColumn,
  ],
  rules: [
    { rule: 'has(self.spec)', message: 'spec is needed, with vpc and externalSubnets' },
    {
      rule: `self.spec.?vpc.orValue('') in [oldSelf.spec.?vpc.orValue('')]`,
      message: 'vpc of a VpcNatGateway is fixed: create another VpcNatGateway',
    },
  ],
};
