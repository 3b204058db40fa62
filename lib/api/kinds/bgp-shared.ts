import { z } from 'zod';
import { matchesWhole, pattern } from './address.ts';
import { rules } from './shared.ts';

/** An autonomous system number, two or four bytes. */
export const asn = z.int().min(1).max(4294967295);

export const addressFamily = z.enum(['ipv4', 'ipv6']);

/** An address in a field called `name`. */
export function ipField(name: string): z.ZodString {
  return z
    .string()
    .max(64)
    .meta(
      rules({ rule: matchesWhole('self', pattern.ip), message: `${name} must be an IP address (IPv6 in lower case)` }),
    );
}

export const bgpGroup = {
  group: 'isthmus.network',
  version: 'v1alpha1',
  scope: 'Cluster',
  hasStatusSubresource: true,
} as const;
