/** Subnets → what the host network needs of them; undefined for those that are none of the host's business. */
import { z } from 'zod';
import { networksInForce } from '../../lib/api/in-force.ts';
import { defaultVpc, joinSubnet } from '../../lib/api/names.ts';
import type { RawObject } from '../../lib/kube/types.ts';
import { formatCidr } from '../../lib/net/cidr.ts';
import type { SubnetFacts } from '../state/facts.ts';

const shape = z.looseObject({
  spec: z.looseObject({
    vpc: z.string().optional(),
    vlan: z.string().optional(),
    natOutgoing: z.boolean().optional(),
    mtu: z.int().optional(),
  }),
});

/**
 * Undefined for subnets of other VPCs (the host cannot reach them), of VLANs, for the join subnet (ovn0 is in it),
 * and for those of which nothing is in force: their networks may overlap with somebody else's.
 */
export function parseSubnet(raw: RawObject): SubnetFacts | undefined {
  const parsed = shape.safeParse(raw);
  if (!parsed.success || raw.metadata.name === joinSubnet) return undefined;
  const { spec } = parsed.data;
  if ((spec.vlan ?? '') !== '' || ![undefined, '', defaultVpc].includes(spec.vpc)) return undefined;
  const networks = networksInForce(raw.metadata.annotations);
  if (networks.length === 0) return undefined;
  return {
    name: raw.metadata.name,
    networks: networks.map(formatCidr),
    isNatOutgoing: spec.natOutgoing === true,
    mtu: spec.mtu !== undefined && spec.mtu > 0 ? spec.mtu : undefined,
  };
}
