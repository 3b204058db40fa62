/** Parses ProviderNetworks. */
import { providerNetworkSpec } from '../../lib/api/kinds/provider-network.ts';
import { annotation } from '../../lib/api/names.ts';
import { readAs } from '../../lib/api/read-as.ts';
import type { RawObject } from '../../lib/kube/types.ts';
import type { ProviderNetwork } from '../model/provider-network.ts';

export function parseProviderNetwork({ metadata, spec }: RawObject): ProviderNetwork {
  return {
    name: metadata.name,
    uid: metadata.uid,
    generation: metadata.generation ?? 0,
    createdAt: metadata.creationTimestamp ?? '',
    spec: readAs(providerNetworkSpec, spec).data,
    isDryRun: metadata.annotations?.[annotation.dryRun] === 'true',
  };
}
