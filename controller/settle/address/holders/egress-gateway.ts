/** VpcEgressGateways: an address outside for each port. */
import { byAge, listedIn } from '../../../../lib/desired/rights.ts';
import { deriveMac } from '../../../../lib/net/mac.ts';
import type { VpcEgressGateway } from '../../../model/egress-gateway.ts';
import { defaultInterface } from '../../../model/interfaces.ts';
import { podKey } from '../../../model/objects.ts';
import { egressPort, routerMacSpace } from '../../../model/ovn-names.ts';
import { satisfies } from '../claims.ts';
import type { PortWant } from '../claims.ts';
import { parseAddresses } from '../port-request.ts';
import type { HolderKind } from './kind.ts';

/** Of the router port. */
function macOf(gateway: VpcEgressGateway, index: number): string {
  return deriveMac(routerMacSpace, egressPort(podKey(gateway), index));
}

function requestOf(gateway: VpcEgressGateway, index: number): PortWant['request'] {
  const { externalSubnet, externalIPs, externalIPPool } = gateway.spec;
  const text = externalIPs[index];
  const addresses = text === undefined ? undefined : parseAddresses(text);
  if (text !== undefined && addresses === undefined)
    return {
      problem: {
        code: 'InvalidAddress',
        message: `spec.externalIPs: '${text}' is not an IPv4 address, an IPv6 address, or one of each`,
      },
    };
  if (text === undefined && externalIPs.length > 0)
    return {
      problem: {
        code: 'InvalidAddress',
        message: `spec.externalIPs has fewer addresses than spec.replicas: add addresses, or remove all`,
      },
    };
  const families = addresses?.map(({ family }) => family);
  return {
    value: {
      mac: macOf(gateway, index),
      ...(externalIPPool === '' ? { subnets: [externalSubnet] } : { pools: [externalIPPool] }),
      ...(addresses && families ? { addresses, families } : {}),
    },
  };
}

/** The numbers of its ports. One that is refused keeps its addresses: outside they are known as its own. */
function indexesOf({ spec }: VpcEgressGateway): readonly number[] {
  return spec.externalSubnet === '' ? [] : Array.from({ length: spec.replicas }, (_, index) => index);
}

/** Keys: `namespace/name`. */
export const egressGatewayHolder: HolderKind = {
  prefix: 'egress-gateway',
  all: (view) => view.vpcEgressGateways.keys(),
  concerns: (change) => (change.kind === 'vpcEgressGateways' ? [change.name] : []),
  claimant(view, key) {
    const gateway = view.vpcEgressGateways.get(key);
    if (gateway === undefined || gateway.isDeleting) return undefined;
    const { uid, createdMs, namespace, spec } = gateway;
    const wants = indexesOf(gateway).map((index) => ({
      port: egressPort(key, index),
      interface: defaultInterface,
      request: requestOf(gateway, index),
    }));
    // Places of a namespace are those that it names.
    const inPool = spec.externalIPPool === '' ? {} : { namespace };
    return { uid, createdMs, name: key, holder: uid, wants, ...inPool };
  },
  *recorded(view) {
    for (const gateway of [...view.vpcEgressGateways.values()].sort(byAge)) {
      const name = podKey(gateway);
      for (const [index, text] of listedIn(gateway, 'externalIPs').entries()) {
        const addresses = parseAddresses(text);
        const record = addresses && {
          subnet: gateway.spec.externalSubnet,
          addresses,
          mac: macOf(gateway, index),
        };
        const isWanted = indexesOf(gateway).includes(index) && satisfies(requestOf(gateway, index), record);
        yield { name, port: egressPort(name, index), record: isWanted ? record : undefined };
      }
    }
  },
  followsRequest: true,
};
