import { z } from 'zod';
import { conditions, mapList, reasonColumn, rules, type Kind, type Rule } from './shared.ts';

const number = '[0-9]{1,7}([.][0-9]{1,3})?';

/** A positive number as a string. */
function amount(field: string, unit: string) {
  return z
    .string()
    .max(11)
    .meta(
      rules({
        rule: `self.matches('^${number}$') && self.matches('[1-9]')`,
        message: `${field} must be a number of ${unit} above 0, as a string such as "10" or "0.5"`,
      }),
    );
}

const matchRules: readonly Rule[] = [
  {
    rule: `(self.?matchType.orValue('') == 'ip') == (self.?matchValue.orValue('') != '')`,
    message: 'matchType ip and matchValue belong together: give both, or neither for all traffic',
  },
  {
    rule: `self.?matchValue.orValue('') == '' || self.matchValue.matches('^(src|dst) [0-9a-fA-F:.]+/[0-9]{1,3}$')`,
    message: 'matchValue must be `src` or `dst` and a CIDR, such as `src 192.0.2.0/24`',
  },
];

const texts = {
  rateMax: 'Mbit/s. Packets above it are dropped.',
  burstMax: 'MB that may pass at once; 0.8 seconds of `rateMax` by default.',
  interface: 'That of the gateway to the network outside, `net1`, which is the default. Other traffic is not limited.',
  matchValue:
    '`src` or `dst` and a CIDR: only packets from or to it are limited. Addresses of pods are not seen: packets have the address outside.',
} as const;

const limitRule = z
  .object({
    name: z.string().min(1).max(253),
    interface: z
      .string()
      .max(63)
      .meta(
        rules({
          rule: `self.matches('^(net[0-9]{1,2})?$')`,
          message: 'interface must be that to the network outside, net1, or empty: no other traffic is limited',
        }),
      )
      .describe(texts.interface)
      .optional(),
    rateMax: amount('rateMax', 'Mbit/s').describe(texts.rateMax),
    burstMax: amount('burstMax', 'MB').describe(texts.burstMax).optional(),
    priority: z
      .int()
      .min(0)
      .max(16_383)
      .describe('Of several rules that a packet matches, the one with the lowest number applies. 0 by default.')
      .optional(),
    direction: z.enum(['ingress', 'egress']).describe('`ingress`: from outside to pods. `egress`: from pods.'),
    matchType: z.enum(['', 'ip']).describe('`ip` with `matchValue`.').optional(),
    matchValue: z.string().max(64).describe(texts.matchValue).optional(),
  })
  .meta(rules(...matchRules));

const bindingType = z
  .enum(['EIP', 'NATGW'])
  .describe(
    '`EIP`: for IptablesEIPs, whose traffic alone is limited. `NATGW`: for VpcNatGateways, whose whole traffic outside is. It cannot be changed.',
  );

export const qosPolicySpec = z.object({
  bindingType,
  shared: z
    .boolean()
    .describe(
      'Several objects may name the policy; each has the limits for itself. Otherwise one may. It cannot be changed.',
    )
    .optional(),
  bandwidthLimitRules: z.array(limitRule).max(32).meta(mapList('name')).optional(),
});

/** As it was written, by Isthmus or a Kube-OVN. */
const shownRule = z.object({
  name: z.string().max(253).optional(),
  interface: z.string().max(63).optional(),
  rateMax: z.string().max(64).optional(),
  burstMax: z.string().max(64).optional(),
  priority: z.int().optional(),
  direction: z.string().max(16).optional(),
  matchType: z.string().max(16).optional(),
  matchValue: z.string().max(64).optional(),
});

export const qosPolicyStatus = z.object({
  conditions: conditions.optional(),
  shared: z.boolean().optional(),
  bindingType: z.string().max(16).optional(),
  bandwidthLimitRules: z
    .array(shownRule)
    .max(64)
    .describe('The rules in force. After an edit that is refused they are the former ones.')
    .nullable()
    .optional(),
});

export type QosPolicySpec = z.infer<typeof qosPolicySpec>;
export type QosPolicyStatus = z.infer<typeof qosPolicyStatus>;

export const qosPolicyKind: Kind = {
  group: 'kubeovn.io',
  version: 'v1',
  kind: 'QoSPolicy',
  plural: 'qos-policies',
  singular: 'qos-policy',
  shortNames: ['qos'],
  scope: 'Cluster',
  spec: qosPolicySpec,
  status: qosPolicyStatus,
  hasStatusSubresource: true,
  description: 'Limits of the bandwidth of addresses outside, or of VpcNatGateways.',
  columns: [
    { name: 'Shared', type: 'string', path: '.spec.shared' },
    { name: 'BindingType', type: 'string', path: '.spec.bindingType' },
    reasonColumn(),
  ],
  rules: [
    { rule: 'has(self.spec)', message: 'spec is needed, with bindingType and bandwidthLimitRules' },
    {
      rule: 'self.spec.bindingType == oldSelf.spec.bindingType && self.spec.?shared.orValue(false) == oldSelf.spec.?shared.orValue(false)',
      message: 'bindingType and shared of a QoSPolicy are fixed: create another QoSPolicy',
    },
  ],
};
