import { z } from 'zod';
import { ageColumn, mapList, type Kind } from './shared.ts';

/** A gateway with its end of encrypted tunnels. */
export const gatewayKey = z.object({
  chassis: z.string(),
  publicKey: z.string().describe('Base64.'),
  address: z.string().describe('Its address within the tunnels.'),
  endpoints: z.array(z.string()).describe('Where it is reached: `address:port`, the best first.'),
  nextKey: z
    .string()
    .describe('The key that is to replace `publicKey`, in base64; both are accepted meanwhile.')
    .optional(),
  waitsFor: z
    .array(z.string())
    .describe('Of a gateway of this cluster with a next key: clusters that do not accept that key yet.')
    .optional(),
});

export type GatewayKey = z.infer<typeof gatewayKey>;

export const gatewayKeySliceKind: Kind = {
  group: 'isthmus.network',
  version: 'v1alpha1',
  kind: 'GatewayKeySlice',
  plural: 'gatewaykeyslices',
  singular: 'gatewaykeyslice',
  shortNames: [],
  scope: 'Cluster',
  data: z.object({
    cidr: z.string().describe('Network of all addresses within the tunnels.'),
    isOwn: z.boolean().describe('Whether the gateways are those of this cluster.'),
    gateways: z.array(gatewayKey).max(64).meta(mapList('chassis')),
  }),
  hasStatusSubresource: false,
  description:
    'The WireGuard keys of the gateways of a cluster, for the daemons of gateways to act on; written by the agent. One for this cluster, and one for each cluster with encrypted tunnels to it.',
  columns: [{ name: 'Network', type: 'string', path: '.cidr' }, ageColumn],
};
