/** Parses GatewayKeySlices. */
import { z } from 'zod';
import { gatewayKey } from '../../lib/api/kinds/gateway-key-slice.ts';
import { readAs } from '../../lib/api/read-as.ts';
import type { RawObject } from '../../lib/kube/types.ts';
import type { KeySlice } from '../model/wireguard.ts';

const shape = z.looseObject({ cidr: z.string(), isOwn: z.boolean(), gateways: z.array(gatewayKey) });

/** Undefined for one that cannot be read: the agent writes it again. */
export function parseKeySlice(raw: RawObject): KeySlice | undefined {
  const { data } = readAs(shape, raw);
  return data && { cidr: data.cidr, isOwn: data.isOwn, gateways: data.gateways };
}
