import { z } from 'zod';
import { matchesWhole, pattern } from './address.ts';
import { rules } from './shared.ts';

/** AS numbers that no router may have: AS_TRANS (RFC 6793), and the last ones of two and of four bytes (RFC 7300). */
export const reservedAsns: readonly number[] = [23456, 65535, 4294967295];

/** An autonomous system number, two or four bytes. */
export const asn = z
  .int()
  .min(1)
  .max(4294967295)
  .meta(
    rules({
      rule: `!(self in [${reservedAsns.join(', ')}])`,
      message: `AS numbers ${reservedAsns.join(', ')} are reserved, and no router may have them`,
    }),
  );

export const addressFamily = z.enum(['ipv4', 'ipv6']);

const forms = {
  any: { whole: pattern.ip, what: 'an IP address (IPv6 in lower case)' },
  4: { whole: pattern.ipv4, what: 'an IPv4 address' },
  6: { whole: pattern.ipv6, what: 'an IPv6 address (lower case)' },
} as const;
const unusable4 = '^(0|127|22[4-9]|2[3-5][0-9])[.]';
const group = '[0-9a-f]{1,4}';
const unusable6 = `^([0:]*(${group}(:${group})?|ffff:${group}:${group})?$|fe[89ab][0-9a-f]:|ff[0-9a-f]{2}:)`;

/** An address that a router can have, in a field called `name`: what `lib/net/router-address.ts` refuses, as far as CEL can say it. */
export function routerAddressField(name: string, family?: 4 | 6): z.ZodString {
  const { whole, what } = forms[family ?? 'any'];
  return z
    .string()
    .max(64)
    .meta(
      rules(
        { rule: matchesWhole('self', whole), message: `${name} must be ${what}` },
        {
          rule: `!self.matches(r'${unusable4}') && !self.matches(r'${unusable6}')`,
          message: `${name} must be an address that a router can have: none that is unspecified, loopback, multicast, reserved, link-local, or IPv4 written as IPv6`,
        },
      ),
    );
}

export const bgpGroup = {
  group: 'isthmus.network',
  version: 'v1alpha1',
  scope: 'Cluster',
  hasStatusSubresource: true,
} as const;
