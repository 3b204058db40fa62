import { z } from 'zod';
import {
  fixedOnceReady,
  insideRules,
  ipTypeField,
  objectName,
  ovnEipField,
  portField,
  readyColumns,
  ruleIps,
  ruleStatus,
  v4IpField,
  v6IpField,
  vpcField,
} from './external.ts';
import type { Kind } from './shared.ts';

export const ovnDnatRuleSpec = z
  .object({
    ovnEip: ovnEipField,
    ipType: ipTypeField.optional(),
    ipName: objectName
      .describe('The IP object of the pod, `<pod>.<namespace>`, or a Vip; its addresses are those inside.')
      .optional(),
    internalPort: portField('internalPort').describe('Port of the address inside.'),
    externalPort: portField('externalPort').describe('Port of the address outside.'),
    protocol: z.enum(['tcp', 'udp', 'sctp', 'TCP', 'UDP', 'SCTP']),
    vpc: vpcField.optional(),
    v4Ip: v4IpField.optional(),
    v6Ip: v6IpField.optional(),
  })
  .meta(insideRules);

export const ovnDnatRuleStatus = z.object({
  ...ruleStatus,
  ...ruleIps,
  internalPort: z.string().max(5).optional(),
  externalPort: z.string().max(5).optional(),
  protocol: z.string().max(4).optional(),
  ipName: z.string().max(253).optional(),
});

export type OvnDnatRuleSpec = z.infer<typeof ovnDnatRuleSpec>;
export type OvnDnatRuleStatus = z.infer<typeof ovnDnatRuleStatus>;

export const ovnDnatRuleKind: Kind = {
  group: 'kubeovn.io',
  version: 'v1',
  kind: 'OvnDnatRule',
  plural: 'ovn-dnat-rules',
  singular: 'ovn-dnat-rule',
  shortNames: ['odnat'],
  scope: 'Cluster',
  spec: ovnDnatRuleSpec,
  status: ovnDnatRuleStatus,
  hasStatusSubresource: true,
  description: 'A port of an address outside that leads to a port of one address of a VPC.',
  columns: [
    { name: 'Vpc', type: 'string', path: '.status.vpc' },
    { name: 'Eip', type: 'string', path: '.spec.ovnEip' },
    { name: 'Protocol', type: 'string', path: '.status.protocol' },
    { name: 'V4Eip', type: 'string', path: '.status.v4Eip' },
    { name: 'V6Eip', type: 'string', path: '.status.v6Eip' },
    { name: 'V4Ip', type: 'string', path: '.status.v4Ip' },
    { name: 'V6Ip', type: 'string', path: '.status.v6Ip' },
    { name: 'InternalPort', type: 'string', path: '.status.internalPort' },
    { name: 'ExternalPort', type: 'string', path: '.status.externalPort' },
    { name: 'IpName', type: 'string', path: '.spec.ipName' },
    ...readyColumns,
  ],
  rules: [
    { rule: 'has(self.spec)', message: 'spec is needed, with ovnEip, externalPort, internalPort and protocol' },
    fixedOnceReady('OvnDnatRule'),
  ],
};
