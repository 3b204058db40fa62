import { networksInForce } from '../../lib/api/in-force.ts';
import { defaultVpc } from '../../lib/api/names.ts';
import type { RawObject } from '../../lib/kube/types.ts';
import { formatCidr } from '../../lib/net/cidr.ts';
import type { Subnet } from '../state/objects.ts';

/** A subnet as far as announcing it goes. */
export function parseSubnet(raw: RawObject): Subnet {
  const { vpc = '' } = (raw['spec'] ?? {}) as { vpc?: string };
  return {
    name: raw.metadata.name,
    labels: raw.metadata.labels ?? {},
    vpc: vpc || defaultVpc,
    prefixes: networksInForce(raw.metadata.annotations).map(formatCidr),
  };
}
