/** A node in the network and Subnets that it routes to; used by tests only. */
import type { Node } from './model/node.ts';
import type { Subnet } from './model/subnet.ts';

const join = { ip: '100.64.0.2', prefix: 16, gateway: '100.64.0.1' };

export const joinedNode: Node = {
  name: 'n1',
  uid: 'u',
  labels: {},
  chassis: undefined,
  leave: undefined,
  serviceAddresses: [],
  servicesDryRun: undefined,
  unavailable: undefined,
  isToBeDeleted: false,
  internalIps: [],
  networkNotes: {},
  network: { subnet: 'join', mac: '02:00:64:40:00:02', addresses: [join], networks: ['100.64.0.0/16'] },
};

/** A Subnet of the default VPC. */
export function aSubnet(name: string, network: string, isNatOutgoing = false): Subnet {
  return {
    name,
    uid: name,
    createdMs: 0,
    networks: [network],
    isRouted: true,
    isOverlay: true,
    underlay: undefined,
    mtu: undefined,
    gateways: [],
    hasRouterAdvertisements: false,
    routerNamespaces: [],
    isNatOutgoing,
    natRules: [],
    gateway: undefined,
    egress: undefined,
    problems: [],
  };
}
