/** Fields and rules that the kinds of external addresses have in common: OvnEip, OvnFip, OvnSnatRule and OvnDnatRule. */
import { z } from 'zod';
import { familyAddressField } from './address.ts';
import { conditions, reasonColumn, rules, type Column, type Rule } from './shared.ts';

export const objectName = z.string().max(253);

/** What a rule has of the address outside, and of the one inside of the VPC. */
export const ruleStatus = {
  conditions: conditions.optional(),
  ready: z.boolean().describe('Its rows are in OVN.').optional(),
  vpc: z.string().max(253).describe('The VPC whose router has the rule.').optional(),
  v4Eip: z.string().max(64).describe('IPv4 address outside.').optional(),
  v6Eip: z.string().max(64).describe('IPv6 address outside.').optional(),
};

export const ruleIps = {
  v4Ip: z.string().max(64).describe('IPv4 address inside.').optional(),
  v6Ip: z.string().max(64).describe('IPv6 address inside.').optional(),
};

export const ovnEipField = z.string().min(1).max(253).describe('The OvnEip with the address outside.');

export const vpcField = z
  .string()
  .max(253)
  .describe(
    'The VPC of the address inside. By default that of the Subnet which has it; needed if the address is given by itself.',
  );

export const v4IpField = familyAddressField('v4Ip', 4).describe('IPv4 address inside, if `ipName` is empty.');
export const v6IpField = familyAddressField('v6Ip', 6).describe('IPv6 address inside, if `ipName` is empty.');

export const ipTypeField = z.enum(['', 'vip']).describe('What `ipName` names: an IP object, or with `vip` a Vip.');

const portPattern = '^([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])$';

/** A port as a string. */
export function portField(field: string) {
  return z
    .string()
    .max(5)
    .meta(
      rules({
        rule: `self.matches('${portPattern}')`,
        message: `${field} must be a port from 1 to 65535, as a string`,
      }),
    );
}

/** The address inside is that of an object, or it is given with its VPC. */
export const hasInside: Rule = {
  rule: `self.?ipName.orValue('') != '' || self.?vpc.orValue('') != '' && (self.?v4Ip.orValue('') != '' || self.?v6Ip.orValue('') != '')`,
  message: 'ipName is needed, or vpc with v4Ip or v6Ip: they say which address inside of the VPC the rule is about',
};

/** Leaving an object as it is must pass: a manifest is applied again and again. */
export function fixedOnceReady(kind: string): Rule {
  return {
    rule: `!oldSelf.?status.?ready.orValue(false) || self.spec == oldSelf.spec`,
    message: `the spec of an ${kind} is fixed once it is ready: delete the object and create it again`,
  };
}

/** A spec of a kind whose rules are about it as a whole. */
export const insideRules = rules(hasInside);

export const readyColumns: readonly Column[] = [
  { name: 'Ready', type: 'boolean', path: '.status.ready' },
  reasonColumn(),
];
