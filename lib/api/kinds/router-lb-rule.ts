import { z } from 'zod';
import { ovnEipField } from './external.ts';
import { ageColumn, conditionColumn, reasonColumn, type Kind } from './shared.ts';
import { lbRuleFields, lbRuleStatus } from './switch-lb-rule.ts';

export const routerLbRuleSpec = z.object({
  ovnEip: ovnEipField.describe('The OvnEip with the addresses outside.'),
  vpc: z.string().min(1).max(253).describe('The VPC of the pods, whose router has the load balancers.'),
  ...lbRuleFields,
  namespace: lbRuleFields.namespace
    .describe('Namespace of the pods that `selector` selects, and of the Service. `default` by default.')
    .optional(),
});

export const routerLbRuleStatus = z.object({
  ...lbRuleStatus,
  v4Eip: z.string().max(64).describe('IPv4 address outside.').optional(),
  v6Eip: z.string().max(64).describe('IPv6 address outside.').optional(),
});

export type RouterLbRuleSpec = z.infer<typeof routerLbRuleSpec>;
export type RouterLbRuleStatus = z.infer<typeof routerLbRuleStatus>;

export const routerLbRuleKind: Kind = {
  group: 'kubeovn.io',
  version: 'v1',
  kind: 'RouterLBRule',
  plural: 'router-lb-rules',
  singular: 'router-lb-rule',
  shortNames: ['rlr'],
  scope: 'Cluster',
  spec: routerLbRuleSpec,
  status: routerLbRuleStatus,
  hasStatusSubresource: true,
  description: 'Ports of an address outside that lead to pods of a VPC, with health checks.',
  columns: [
    { name: 'OvnEip', type: 'string', path: '.spec.ovnEip' },
    { name: 'Vpc', type: 'string', path: '.spec.vpc' },
    { name: 'Port(s)', type: 'string', path: '.status.ports' },
    { name: 'Service', type: 'string', path: '.status.service' },
    { name: 'Online', type: 'integer', path: '.status.online' },
    { name: 'Total', type: 'integer', path: '.status.total' },
    conditionColumn('Ready'),
    reasonColumn(),
    ageColumn,
  ],
  rules: [{ rule: 'has(self.spec)', message: 'spec is needed, with ovnEip, vpc and ports' }],
};
