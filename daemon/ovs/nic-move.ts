/** Parses the move of an interface, which plan/underlay has written into the external_ids of the bridge. */
import { z } from 'zod';
import type { NicMove } from '../model/provider-network.ts';

const address = z.strictObject({
  address: z.string(),
  prefix: z.int(),
  peer: z.string().exactOptional(),
  broadcast: z.string().exactOptional(),
  scope: z.int(),
  isRouteless: z.literal(true).exactOptional(),
  isDeprecated: z.literal(true).exactOptional(),
  metric: z.int().exactOptional(),
});
const route = z.strictObject({
  destination: z.string(),
  gateway: z.string().exactOptional(),
  source: z.string().exactOptional(),
  table: z.int(),
  protocol: z.int(),
  scope: z.int(),
  tos: z.int(),
  metric: z.int().exactOptional(),
  isOnlink: z.literal(true).exactOptional(),
  extras: z.record(z.string(), z.string()).exactOptional(),
});
const shape = z.strictObject({
  network: z.string(),
  phase: z.enum(['joining', 'joined', 'returning', 'rolledBack']),
  nic: z.string(),
  mac: z.string(),
  mtu: z.int(),
  wish: z.string(),
  moved: z.array(
    z.strictObject({ device: z.string(), port: z.string(), addresses: z.array(address), routes: z.array(route) }),
  ),
  checks: z.strictObject({ gateways: z.array(z.string()), api: z.boolean() }),
  failure: z.strictObject({ code: z.string(), message: z.string() }).exactOptional(),
});

/** Undefined if the note was damaged. */
export function parseMove(text: string | undefined): NicMove | undefined {
  if (text === undefined) return undefined;
  try {
    return shape.safeParse(JSON.parse(text)).data;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
