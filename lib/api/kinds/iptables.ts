/** Fields that the kinds of a VpcNatGateway have in common: IptablesEIP, IptablesFIPRule, IptablesSnatRule and IptablesDnatRule. */
import { z } from 'zod';
import { conditions } from './shared.ts';

export const natGwDp = z.string().max(253).describe('The VpcNatGateway.');

export const redo = z
  .string()
  .max(64)
  .describe('When Kube-OVN wrote the rule again into a new pod of the gateway. Isthmus leaves it as it is.')
  .optional();

export const eipField = z.string().min(1).max(253).describe('The IptablesEIP with the address outside.');

/** What the status of a rule has in common with that of the others. */
export const iptablesRuleStatus = {
  conditions: conditions.optional(),
  ready: z.boolean().describe('Its rows are in OVN.').optional(),
  v4ip: z.string().max(64).describe('IPv4 address outside.').optional(),
  v6ip: z.string().max(64).describe('Empty: the kinds of a VpcNatGateway have IPv4 addresses.').optional(),
  natGwDp: natGwDp.optional(),
  redo,
};
