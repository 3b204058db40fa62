import { z } from 'zod';
import { rules } from './shared.ts';

const octet = '(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])';
const ipv4 = `${octet}([.]${octet}){3}`;
// RE2 cannot count the groups around `::`; the rooms' parser refuses addresses with a wrong count.
const groups = '[0-9a-f]{1,4}(:[0-9a-f]{1,4}){0,6}';
const ipv6 = `(([0-9a-f]{1,4}:){7}[0-9a-f]{1,4}|(${groups})?::(${groups})?)`;
const prefix4 = '/(3[0-2]|[12]?[0-9])';
const prefix6 = '/(12[0-8]|1[01][0-9]|[1-9]?[0-9])';

const cidr4 = `${ipv4}${prefix4}`;
const cidr6 = `${ipv6}${prefix6}`;
const ip = `(${ipv4}|${ipv6})`;
const cidr = `(${cidr4}|${cidr6})`;
const ipOrCidr = `(${ipv4}(${prefix4})?|${ipv6}(${prefix6})?)`;

/** RE2 sources without anchors, for use in CEL raw strings. */
export const pattern = { ipv4, ipv6, cidr4, cidr6, ip, cidr, ipOrCidr } as const;

/** CEL: `subject` matches the whole pattern. */
export function matchesWhole(subject: string, source: string): string {
  return `${subject}.matches(r'^${source}$')`;
}

const maxListLength = 160;

/**
 * An address or CIDR for long lists within a list: the whole pattern costs three times what the API server allows there. The
 * rooms' parser refuses invalid values that this pattern accepts, such as a leading zero or a prefix length that is too long.
 */
const shortIpOrCidr = String.raw`(((25[0-5]|2[0-4]\d|1?\d?\d)(\.|\b)){4}|[\da-f]*:[\da-f:]*)(/\d+)?`;

/** One address, or empty. `field` names it in the message. */
export function addressField(field: string): z.ZodString {
  return z
    .string()
    .max(64)
    .meta(
      rules({
        rule: `self == '' || ${matchesWhole('self', ip)}`,
        message: `${field} must be an IP address (IPv6 in lower case)`,
      }),
    );
}

/** One address of a family, or empty. */
export function familyAddressField(field: string, family: 4 | 6): z.ZodString {
  const isWhole = matchesWhole('self', family === 4 ? pattern.ipv4 : pattern.ipv6);
  const message = family === 4 ? `${field} must be an IPv4 address` : `${field} must be an IPv6 address (lower case)`;
  return z
    .string()
    .max(64)
    .meta(rules({ rule: `self == '' || ${isWhole}`, message }));
}

/** One address or CIDR, or empty. */
export function addressOrCidrField(field: string): z.ZodString {
  return z
    .string()
    .max(64)
    .meta(
      rules({
        rule: `self == '' || ${matchesWhole('self', ipOrCidr)}`,
        message: `${field} must be an IP address or a CIDR (IPv6 in lower case)`,
      }),
    );
}

/** One MAC address, or empty. */
export function macField(field: string): z.ZodString {
  return z
    .string()
    .max(64)
    .meta(
      rules({
        rule: `self == '' || self.matches('^[0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){5}$')`,
        message: `${field} must be a MAC address such as 00:00:00:53:6b:b6`,
      }),
    );
}

/** At most one IPv4 and one IPv6 address separated by a comma, or empty. */
export function addressPairField(field: string): z.ZodString {
  return z
    .string()
    .max(maxListLength)
    .meta(
      rules(
        {
          rule: `self == '' || self.split(',').all(a, ${matchesWhole('a', ip)})`,
          message: `${field} must be an IPv4 address, an IPv6 address (lower case), or one of each separated by a comma`,
        },
        {
          rule: `self.split(',').filter(a, a.contains(':')).size() <= 1 && self.split(',').filter(a, !a.contains(':')).size() <= 1`,
          message: `${field} takes at most one IPv4 and one IPv6 address`,
        },
      ),
    );
}

/** One CIDR, or empty. */
export function cidrField(field: string): z.ZodString {
  return z
    .string()
    .max(64)
    .meta(
      rules({
        rule: `self == '' || ${matchesWhole('self', cidr)}`,
        message: `${field} must be a CIDR such as 10.16.0.0/16`,
      }),
    );
}

/** CEL: `self` is a list of `item`s separated by commas, or empty. As one expression: lists within a list of objects are beyond the cost budget. */
function isListOf(item: string, count: string): string {
  return `self.matches(r'^(${item}(, ?|$))${count}$') && !self.endsWith(',') && !self.endsWith(' ')`;
}

/** CIDRs and addresses separated by commas, or empty. */
export function cidrListField(field: string): z.ZodString {
  return z
    .string()
    .max(4096)
    .meta(
      rules({
        rule: isListOf(shortIpOrCidr, '*'),
        message: `${field} must be CIDRs or IP addresses (IPv6 in lower case) separated by commas`,
      }),
    );
}

/** A CIDR, two separated by a comma, or empty. */
export function cidrPairField(field: string): z.ZodString {
  return z
    .string()
    .max(maxListLength)
    .meta(
      rules({
        rule: isListOf(cidr, '{0,2}'),
        message: `${field} must be an address with its prefix length such as 169.254.0.1/30 (IPv6 in lower case), or two separated by a comma`,
      }),
    );
}
