/** Exported Services and routes for tests. */
import type { ExportedEndpoint, ExportedService } from '../../model/exported-service.ts';
import { endpoint, exported } from '../../model/testing-exports.ts';
import type { RouteUse } from '../route-use.ts';

export function endpointAt(address: string, fields: Partial<ExportedEndpoint> = {}): ExportedEndpoint {
  return endpoint(address, { zone: '', node: '', ...fields });
}

export function exportOf(fields: Partial<ExportedService> = {}): ExportedService {
  return exported('shop/web', [], { createdMs: 1000, ...fields });
}

/** A route of a VPC to another cluster; not in use without a path. */
export function routeTo(prefix: string, isUsed = true, router = 'ovn-cluster'): RouteUse {
  return {
    prefix,
    transitSwitch: 'ts',
    router,
    origin: 'connected',
    tags: [],
    isChosen: true,
    hops: [{ switch: 'ts', address: '169.254.100.2', isUsed, problem: undefined }],
    rejected: undefined,
  };
}
