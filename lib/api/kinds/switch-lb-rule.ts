import { z } from 'zod';
import { ageColumn, conditionColumn, conditions, reasonColumn, rules, type Kind } from './shared.ts';

const selectorItem = z
  .string()
  .max(330)
  .meta(rules({ rule: `self.matches('^[^:]+:[^:]*$')`, message: 'selector takes labels as `key:value`' }));

const address = z
  .string()
  .max(64)
  .meta(
    rules({
      rule: `self.matches('^[0-9a-fA-F:.]+$')`,
      message: 'endpoints takes addresses of IPv4 or IPv6, one in each item',
    }),
  );

const port = z.int().min(1).max(65535);

const rulePort = z.object({
  name: z.string().max(63).describe('Name of the port; required if there are several.').optional(),
  port: port.describe('Port of the virtual address.'),
  targetPort: z
    .int()
    .min(0)
    .max(65535)
    .describe('Port of the backends; that of the virtual address by default.')
    .optional(),
  protocol: z.enum(['', 'TCP', 'UDP', 'SCTP']).describe('TCP by default.').optional(),
});

/** Fields that a RouterLBRule has as well. */
export const lbRuleFields = {
  namespace: z.string().max(63).describe('Namespace of the pods that `selector` selects, and of the Service.'),
  selector: z
    .array(selectorItem)
    .max(128)
    .describe('Backends: pods with all of these labels, written `key:value`. Ignored if `endpoints` has addresses.')
    .optional(),
  endpoints: z.array(address).max(1024).describe('Backends: addresses in the VPC of the rule.').optional(),
  sessionAffinity: z
    .enum(['', 'None', 'ClientIP'])
    .describe('`ClientIP`: a client stays with its backend while the backends stay the same.')
    .optional(),
  ports: z.array(rulePort).min(1).max(256).describe('Ports of the virtual address.'),
};

export const switchLbRuleSpec = z.object({
  vip: z
    .string()
    .max(100)
    .describe('Virtual address: of IPv4, of IPv6, or one of each with a comma between them.')
    .meta(
      rules({
        rule: `self.matches('^[0-9a-fA-F:.]+( *, *[0-9a-fA-F:.]+)?$')`,
        message: 'vip takes an address of IPv4, of IPv6, or one of each with a comma between them',
      }),
    ),
  ...lbRuleFields,
});

const backend = z.object({
  address: z.string().max(64),
  port: z.int(),
  protocol: z.string().max(4),
  pod: z.string().max(320).describe('`namespace/name`, where the backend is a pod.').optional(),
  state: z
    .enum(['Online', 'Offline', 'Error', 'Pending', 'Unchecked'])
    .describe(
      'Result of OVN’s health check; Offline and Error get no connections. Pending: it has no result yet. Unchecked: OVN does not check the backend.',
    ),
  reason: z
    .enum(['HealthChecksOff', 'SctpNotChecked', 'NotAPod', 'NoSource'])
    .describe(
      'Why a backend is Unchecked: by an annotation of the rule, because of its protocol, because no pod of the VPC has its address, or because its Subnet has no address of that family for the source of checks.',
    )
    .optional(),
});

/** What its status has in common with that of a RouterLBRule. */
export const lbRuleStatus = {
  conditions: conditions.optional(),
  ports: z.string().describe('`8080/TCP`, separated by commas.').optional(),
  service: z.string().max(320).describe('`namespace/name` of the headless Service of the rule.').optional(),
  vpc: z.string().max(63).describe('The VPC whose pods reach the virtual address.').optional(),
  unserved: z
    .array(z.string().max(64))
    .max(512)
    .describe(
      'Virtual addresses with ports that pods do not reach, as `1.1.1.1:80/TCP`; the condition `Ready` has the reason. Absent if all are served, or if the spec is refused.',
    )
    .optional(),
  total: z.int().min(0).describe('Number of backends, each with each of its ports.').optional(),
  online: z.int().min(0).describe('Backends that get connections: all but those that are Offline or Error.').optional(),
  backends: z
    .array(backend)
    .max(128)
    .describe(
      'Backends with the result of their health checks. Of more than 128, those that are Offline or Error come first.',
    )
    .optional(),
};

export const switchLbRuleStatus = z.object(lbRuleStatus);

export type SwitchLbRuleSpec = z.infer<typeof switchLbRuleSpec>;
export type SwitchLbRuleStatus = z.infer<typeof switchLbRuleStatus>;

export const switchLbRuleKind: Kind = {
  group: 'kubeovn.io',
  version: 'v1',
  kind: 'SwitchLBRule',
  plural: 'switch-lb-rules',
  singular: 'switch-lb-rule',
  shortNames: ['slr'],
  scope: 'Cluster',
  spec: switchLbRuleSpec,
  status: switchLbRuleStatus,
  hasStatusSubresource: true,
  description: 'A virtual address of your choice inside a VPC, with pods as backends.',
  columns: [
    { name: 'Vip', type: 'string', path: '.spec.vip' },
    { name: 'Port(s)', type: 'string', path: '.status.ports' },
    { name: 'Service', type: 'string', path: '.status.service' },
    { name: 'Online', type: 'integer', path: '.status.online' },
    { name: 'Total', type: 'integer', path: '.status.total' },
    { name: 'Vpc', type: 'string', path: '.status.vpc', priority: 1 },
    conditionColumn('Ready'),
    reasonColumn(),
    ageColumn,
  ],
  rules: [{ rule: 'has(self.spec)', message: 'spec is needed, with vip, namespace and ports' }],
};
