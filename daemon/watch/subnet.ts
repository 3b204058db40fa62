/** Subnets → what the host network needs of them; undefined for those that are none of the host's business. */
import { z } from 'zod';
import { defaultVpc, joinSubnet } from '../../lib/api/names.ts';
import type { RawObject } from '../../lib/kube/types.ts';
import { formatCidr, parseCidr } from '../../lib/net/cidr.ts';
import type { SubnetFacts } from '../state/facts.ts';
import { splitList } from './address.ts';

const shape = z.looseObject({
  spec: z.looseObject({
    cidrBlock: z.string().optional(),
    vpc: z.string().optional(),
    vlan: z.string().optional(),
    natOutgoing: z.boolean().optional(),
    mtu: z.int().optional(),
  }),
  status: z
    .looseObject({ conditions: z.array(z.looseObject({ type: z.string(), status: z.string() })).optional() })
    .optional(),
});

/**
 * Undefined for subnets of other VPCs (the host cannot reach them), of VLANs, for the join subnet (ovn0 is in it),
 * and for those the controller refused: their networks may overlap with somebody else's.
 */
export function parseSubnet(raw: RawObject): SubnetFacts | undefined {
  const parsed = shape.safeParse(raw);
  if (!parsed.success || raw.metadata.name === joinSubnet) return undefined;
  const { spec, status } = parsed.data;
  const isRefused =
    status?.conditions?.some(({ type, status: value }) => type === 'Validated' && value === 'False') === true;
  if (isRefused || (spec.vlan ?? '') !== '' || ![undefined, '', defaultVpc].includes(spec.vpc)) return undefined;
  const networks = splitList(spec.cidrBlock).map(parseCidr);
  if (networks.length === 0 || networks.some((network) => network === undefined)) return undefined;
  return {
    name: raw.metadata.name,
    networks: networks.flatMap((network) => (network === undefined ? [] : [formatCidr(network)])),
    isNatOutgoing: spec.natOutgoing === true,
    mtu: spec.mtu !== undefined && spec.mtu > 0 ? spec.mtu : undefined,
  };
}
