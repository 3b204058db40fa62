import { defaultVpc } from '../../lib/api/names.ts';
import type { RawObject } from '../../lib/kube/types.ts';
import { formatCidr, parseCidr } from '../../lib/net/cidr.ts';
import type { Subnet } from '../state/objects.ts';

/** A subnet as far as announcing it goes. */
export function parseSubnet(raw: RawObject): Subnet {
  const { cidrBlock = '', vpc = '' } = (raw['spec'] ?? {}) as { cidrBlock?: string; vpc?: string };
  const { conditions = [] } = (raw['status'] ?? {}) as { conditions?: readonly { type: string; status: string }[] };
  return {
    name: raw.metadata.name,
    labels: raw.metadata.labels ?? {},
    vpc: vpc || defaultVpc,
    prefixes: cidrBlock.split(',').flatMap((text) => canonicalPrefix(text.trim()) ?? []),
    isReady: conditions.some(({ type, status }) => type === 'Ready' && status === 'True'),
    isDeleting: raw.metadata.deletionTimestamp !== undefined,
  };
}

function canonicalPrefix(text: string): string | undefined {
  const cidr = parseCidr(text);
  return cidr && formatCidr(cidr);
}
