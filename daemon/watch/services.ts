/** Watches the kinds that only nodes that serve Services need, for `state/services.ts`. */
import { fieldsOf, textsOf } from '../../lib/kube/fields.ts';
import { reflect } from '../../lib/kube/reflector.ts';
import * as resources from '../../lib/kube/resources.ts';
import type { RawObject } from '../../lib/kube/types.ts';
import { formatCidr, parseCidr } from '../../lib/net/cidr.ts';
import { parseEndpointSlice, parseService } from '../../lib/services/parse.ts';
import type { WatchOptions } from './watches.ts';

/** Resolves once all existing objects were delivered. @throws the signal's reason */
export async function openServiceWatches(options: Omit<WatchOptions, 'node'>) {
  const watches = {
    services: reflect({ ...options, resource: resources.services, parse: parseService }),
    slices: reflect({ ...options, resource: resources.endpointSlices, parse: parseEndpointSlice }),
    // Served from Kubernetes 1.33 on.
    cidrs: reflect({ ...options, resource: resources.serviceCidrs, parse: parseServiceCidr, optional: true }),
  };
  await Promise.all(Object.values(watches).map(({ synced }) => synced));
  return watches;
}

export function parseServiceCidr(raw: RawObject): readonly string[] {
  return textsOf(fieldsOf(raw['spec'])['cidrs']).flatMap((text) => {
    const cidr = parseCidr(text);
    return cidr === undefined ? [] : [formatCidr(cidr)];
  });
}
