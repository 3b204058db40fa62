/** ProviderNetworks and Vlans → what the node needs of them. */
import { z } from 'zod';
import { providerNetworkSpec } from '../../lib/api/kinds/provider-network.ts';
import { annotation } from '../../lib/api/names.ts';
import type { RawObject } from '../../lib/kube/types.ts';
import type { ProviderNetworkFacts, VlanFacts } from '../state/underlay.ts';

export function parseProviderNetwork({ metadata, spec }: RawObject): ProviderNetworkFacts {
  return {
    name: metadata.name,
    uid: metadata.uid,
    generation: metadata.generation ?? 0,
    createdAt: metadata.creationTimestamp ?? '',
    spec: providerNetworkSpec.safeParse(spec).data,
    isDryRun: metadata.annotations?.[annotation.dryRun] === 'true',
  };
}

const vlanShape = z.looseObject({
  id: z.int().optional(),
  provider: z.string().optional(),
  vlanId: z.int().optional(),
  providerInterfaceName: z.string().optional(),
});

/** Undefined where it names no network. */
export function parseVlan({ metadata, spec }: RawObject): VlanFacts | undefined {
  const { id = 0, provider, vlanId = 0, providerInterfaceName } = vlanShape.safeParse(spec).data ?? {};
  const network = provider || providerInterfaceName;
  return network ? { name: metadata.name, provider: network, id: id || vlanId } : undefined;
}
