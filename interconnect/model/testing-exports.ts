/** Exported Services for tests. */
import type { ExportedEndpoint, ExportedService } from './exported-service.ts';

export function endpoint(address: string, rest: Partial<ExportedEndpoint> = {}): ExportedEndpoint {
  return {
    address,
    hostname: '',
    zone: 'z1',
    node: 'n1',
    isReady: true,
    isServingWhileTerminating: false,
    ports: [{ name: 'http', protocol: 'TCP', port: 8080 }],
    ...rest,
  };
}

/** `key`: `namespace/name`. */
export function exported(
  key: string,
  addresses: readonly string[],
  rest: Partial<ExportedService> = {},
): ExportedService {
  const [namespace = '', name = ''] = key.split('/');
  return {
    namespace,
    name,
    createdMs: 1,
    type: 'ClusterSetIP',
    ports: [{ name: 'http', protocol: 'TCP', port: 80, appProtocol: '' }],
    affinitySeconds: 0,
    isInternalPolicyLocal: false,
    trafficDistribution: '',
    ipFamilies: [4],
    labels: {},
    annotations: {},
    endpoints: addresses.map((address) => endpoint(address)),
    ...rest,
  };
}
