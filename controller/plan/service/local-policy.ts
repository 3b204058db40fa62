import type { DesiredRow } from '../../../lib/desired/row.ts';
import { serviceKey, type Service } from '../../../lib/services/service.ts';
import { vipId, type ServiceVip } from '../../../lib/services/vips.ts';
import { matchFamily, policyPriority, vendorIds } from '../names.ts';

/**
 * Drops packets for a virtual address with internalTrafficPolicy Local on nodes without an endpoint. A load balancer without backends for
 * a node has no flow there: the packets would go by the router to the node, and leave the cluster by its default route.
 */
export function localPolicy(service: Service, vpc: string, vip: ServiceVip): DesiredRow {
  const { protocol, family, address, port } = vip;
  return {
    table: 'Logical_Router_Policy',
    key: `service/${serviceKey(service)}/${vipId(vip).replace(' ', '/')}`,
    columns: {
      priority: policyPriority.serviceLocal,
      match: `${matchFamily(family)}.dst == ${address} && ${protocol}.dst == ${port.port}`,
      action: 'drop',
      external_ids: vendorIds,
    },
    parent: { table: 'Logical_Router', key: vpc, column: 'policies' },
  };
}
