import { z } from 'zod';
import { ageColumn, conditionColumn, conditions, dateTime, mapList, reasonColumn, type Kind } from './shared.ts';

/**
 * A network between VPCs of several clusters. The object of this name in each cluster says which VPC takes part there.
 * The first cluster to name it defines it at the hub: its CIDR, paths and clusters count, those of others must agree or
 * be left out. `ts` is the hub's own, made by every agent for the VPC of its Interconnect.
 */
export const transitSwitchSpec = z.object({
  vpc: z.string().min(1).max(253).default('ovn-cluster').describe('The VPC of this cluster that takes part.'),
  cidr: z
    .string()
    .max(100)
    .default('')
    .describe('Addresses of the network, one prefix per IP family separated by a comma; the hub chooses when empty.'),
  paths: z
    .int()
    .min(0)
    .max(8)
    .default(0)
    .describe('Paths between each two clusters, on different gateways if there are enough; 0: the default of the hub.'),
  clusters: z
    .array(z.string().min(1).max(40))
    .max(1000)
    .default([])
    .describe('Clusters that may take part; all when empty.'),
});

/** One path of a transit switch, as this cluster's end of it stands. */
export const transitPath = z.object({
  path: z.int(),
  switch: z.string().describe('Name of the logical switch in OVN.'),
  cidr: z.string(),
  tunnelKey: z.int(),
  localAddress: z.string().optional(),
  gateways: z
    .array(z.string())
    .describe('Chassis that may hold the port of this cluster, the preferred one first.')
    .optional(),
  holder: z.string().describe('Chassis that holds it; empty while none does.').optional(),
  state: z
    .enum(['Settled', 'Unprotected', 'Draining', 'Moving', 'FailedOver', 'Unclaimed', 'Retiring'])
    .describe('Unprotected: the port is in place, but no other gateway would take it over if its holder failed.')
    .optional(),
  reason: z.string().describe('Why it is `Unprotected`: `NoStandby` or `NoWitness`.').optional(),
  message: z.string().optional(),
  since: dateTime.optional(),
});

export const transitSwitchStatus = z.object({
  conditions: conditions.optional(),
  cidr: z.string().optional(),
  definedBy: z.string().describe('The cluster that defined it; empty for the hub.').optional(),
  vpc: z.string().optional(),
  paths: z.array(transitPath).meta(mapList('path')).optional(),
  activeGateways: z.string().describe('Chassis that hold the paths here, joined by commas.').optional(),
  clusters: z
    .array(z.object({ name: z.string(), address: z.string() }))
    .meta(mapList('name'))
    .optional(),
});

export type TransitSwitchSpec = z.infer<typeof transitSwitchSpec>;
export type TransitPathStatus = z.infer<typeof transitPath>;
export type TransitSwitchStatus = z.infer<typeof transitSwitchStatus>;

export const transitSwitchKind: Kind = {
  group: 'isthmus.network',
  version: 'v1alpha1',
  kind: 'TransitSwitch',
  plural: 'transitswitches',
  singular: 'transitswitch',
  shortNames: ['ts'],
  scope: 'Cluster',
  spec: transitSwitchSpec,
  status: transitSwitchStatus,
  hasStatusSubresource: true,
  description:
    'A network between VPCs of several clusters. The agent creates `ts` for the VPC of the Interconnect; create others yourself, with one object of the same name in each cluster that takes part.',
  columns: [
    { name: 'VPC', type: 'string', path: '.spec.vpc' },
    { name: 'CIDR', type: 'string', path: '.status.cidr' },
    { name: 'Gateways', type: 'string', path: '.status.activeGateways' },
    conditionColumn('Ready'),
    reasonColumn(),
    ageColumn,
  ],
  rules: [
    {
      rule: "self.metadata.name.matches('^[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?$')",
      message: 'the name of a transit switch has up to 32 lower-case letters, digits and "-"',
    },
  ],
};
