import { z } from 'zod';
import {
  fixedOnceReady,
  insideRules,
  ipTypeField,
  objectName,
  ovnEipField,
  readyColumns,
  ruleIps,
  ruleStatus,
  v4IpField,
  v6IpField,
  vpcField,
} from './external.ts';
import type { Kind } from './shared.ts';

export const ovnFipSpec = z
  .object({
    ovnEip: ovnEipField.describe('The OvnEip with the address outside, which no other rule may use.'),
    ipType: ipTypeField.optional(),
    ipName: objectName
      .describe('The IP object of the pod, `<pod>.<namespace>`, or a Vip; its addresses are those inside.')
      .optional(),
    vpc: vpcField.optional(),
    v4Ip: v4IpField.optional(),
    v6Ip: v6IpField.optional(),
    type: z
      .enum(['', 'centralized', 'distributed'])
      .describe(
        '`centralized`, the default: traffic passes the gateway node of the VPC. `distributed`: it leaves and enters at the node of the pod, which needs the bridge of the network outside.',
      )
      .optional(),
  })
  .meta(insideRules);

export const ovnFipStatus = z.object({
  ...ruleStatus,
  ...ruleIps,
  macAddress: z.string().max(64).describe('MAC address that answers for a distributed address.').optional(),
});

export type OvnFipSpec = z.infer<typeof ovnFipSpec>;
export type OvnFipStatus = z.infer<typeof ovnFipStatus>;

export const ovnFipKind: Kind = {
  group: 'kubeovn.io',
  version: 'v1',
  kind: 'OvnFip',
  plural: 'ovn-fips',
  singular: 'ovn-fip',
  shortNames: ['ofip'],
  scope: 'Cluster',
  spec: ovnFipSpec,
  status: ovnFipStatus,
  hasStatusSubresource: true,
  description: 'An address outside that stands for one address of a VPC, in both directions.',
  columns: [
    { name: 'Vpc', type: 'string', path: '.status.vpc' },
    { name: 'Type', type: 'string', path: '.spec.type' },
    { name: 'V4Eip', type: 'string', path: '.status.v4Eip' },
    { name: 'V6Eip', type: 'string', path: '.status.v6Eip' },
    { name: 'V4Ip', type: 'string', path: '.status.v4Ip' },
    { name: 'V6Ip', type: 'string', path: '.status.v6Ip' },
    ...readyColumns,
    { name: 'IpType', type: 'string', path: '.spec.ipType' },
    { name: 'IpName', type: 'string', path: '.spec.ipName' },
  ],
  rules: [{ rule: 'has(self.spec)', message: 'spec is needed, with ovnEip' }, fixedOnceReady('OvnFip')],
};
