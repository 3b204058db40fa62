/** A VpcEgressGateway with the addresses of its ports, as its rows and its status read it. */
import type { FamilyNet } from '../../ipam/family-pool.ts';
import type { Allocation } from '../../ipam/subnet-pool.ts';
import { isLeading } from '../../model/egress-gateway.ts';
import type { EgressGateway } from '../../model/egress-gateway.ts';
import { egressPort, egressRouter } from '../../model/ovn-names.ts';
import type { View } from '../../model/view.ts';
import { servedNet } from '../../settle/subnet/served-net.ts';
import type { Family } from '../../../lib/net/ip.ts';

export interface ServedPort {
  /** Of the router port. */
  readonly name: string;
  readonly allocation: Allocation;
  readonly nodes: EgressGateway['ports'][number];
}

export interface ServedGateway extends EgressGateway {
  readonly key: string;
  readonly router: string;
  /** At least one. */
  readonly served: readonly ServedPort[];
  /** The networks outside in which any port has an address. */
  readonly parts: readonly FamilyNet[];
}

export function addressIn({ v4, v6 }: Allocation, family: Family): string | undefined {
  return family === 4 ? v4 : v6;
}

/** Undefined while packets cannot leave by the gateway. */
export function servedGateway(view: View, key: string): ServedGateway | undefined {
  const gateway = view.egressGateways.get(key);
  const net = isLeading(gateway) ? servedNet(view, gateway.subnet) : undefined;
  if (gateway === undefined || net === undefined) return undefined;
  const router = egressRouter(key);
  const served = gateway.ports.flatMap((nodes, index): ServedPort[] => {
    const allocation = view.allocation(egressPort(key, index));
    return allocation === undefined ? [] : [{ name: `${router}-${index}`, allocation, nodes }];
  });
  const has = ({ cidr: { family } }: FamilyNet): boolean =>
    served.some(({ allocation }) => addressIn(allocation, family) !== undefined);
  const parts = [net.v4, net.v6].filter((part) => part !== undefined).filter(has);
  return parts.length === 0 ? undefined : { ...gateway, key, router, served, parts };
}
