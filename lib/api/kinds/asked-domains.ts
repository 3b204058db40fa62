import { z } from 'zod';
import { ageColumn, type Kind } from './shared.ts';

/** Domain names of a node. */
export const mostAskedOfNode = 2000;

/** A domain name that a pod asked DNS for. */
export const askedDomain = z.object({
  name: z.string().max(253).describe('The domain name, in lower case and without the last dot.'),
  namespace: z.string().max(63).describe('Namespace of the pod that asked for it. A name has an entry for each.'),
  since: z
    .int()
    .min(0)
    .max(9_999_999_999)
    .describe('When a pod of the Namespace asked for it first, in seconds since 1970.'),
});

export type AskedDomain = z.infer<typeof askedDomain>;

export const askedDomainsKind: Kind = {
  group: 'isthmus.network',
  version: 'v1alpha1',
  kind: 'AskedDomains',
  plural: 'askeddomains',
  singular: 'askeddomains',
  shortNames: [],
  scope: 'Cluster',
  spec: z.object({
    names: z
      .array(askedDomain)
      .max(mostAskedOfNode)
      .describe(
        'The names that pods of the node asked for within the last hour, and that a name with `*` in a policy matches.',
      ),
  }),
  hasStatusSubresource: false,
  description:
    'The domain names that pods of a node asked DNS for, as far as policies name them with `*`, for the controller to act on; written by the daemon of the node, whose name it has.',
  columns: [ageColumn],
};
