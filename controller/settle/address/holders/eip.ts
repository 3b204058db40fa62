/** OvnEips, IptablesEIPs and addresses that annotations of pods name, by their `id`: addresses of networks outside, for rules and for the routers of VPCs. */
import { externalSubnet } from '../../../../lib/api/names.ts';
import { byAge } from '../../../../lib/desired/rights.ts';
import { parseIp } from '../../../../lib/net/ip.ts';
import { defaultInterface } from '../../../model/interfaces.ts';
import { eipAt, eipRef, iptablesEipId } from '../../../model/external-objects.ts';
import type { OvnEip } from '../../../model/external-objects.ts';
import { hasOutside, outsideId, podRuleStores, ruleOfPodText } from '../../../model/external-rules.ts';
import type { Pod } from '../../../model/objects.ts';
import { eipPort } from '../../../model/ovn-names.ts';
import type { View } from '../../../model/view.ts';
import { gatewayPortName, gatewayPortNamed } from '../../external/external-subnets.ts';
import { altersRights, outsideOfNode, podsEntitled } from '../../external/pod-addresses.ts';
import { satisfies } from '../claims.ts';
import type { Claimant, PortWant } from '../claims.ts';
import { parseAddresses } from '../port-request.ts';
import { recordOfEip } from '../records.ts';
import type { HolderKind } from './kind.ts';

function eipRequest(eip: OvnEip): PortWant['request'] {
  const { v4Ip, v6Ip, macAddress } = eip.spec;
  const text = [v4Ip, v6Ip].filter((part) => part !== '').join(',');
  const addresses = text === '' ? undefined : parseAddresses(text);
  if (text !== '' && addresses === undefined)
    return {
      problem: {
        code: 'InvalidAddress',
        message: `spec.v4Ip, spec.v6Ip: '${text}' is not at most one address of each family`,
      },
    };
  const families = addresses?.map(({ family }) => family);
  return {
    value: {
      subnets: [eip.spec.externalSubnet],
      // Those of VpcNatGateways have IPv4.
      ...(eip.spec.natGateway === undefined ? {} : { families: [4] }),
      ...(addresses && families ? { addresses, families } : {}),
      ...(macAddress === '' ? {} : { mac: macAddress.toLowerCase() }),
    },
  };
}

/** Pods that name the same address hold it together: the rules decide which of them use it. */
function podsClaimant(view: View, id: string): Claimant | undefined {
  const eip = eipAt(view, id);
  const [oldest] = podsEntitled(view, id)
    .map(({ pod }) => pod)
    .sort(byAge);
  if (oldest === undefined || eip === undefined) return undefined;
  const want = { port: eipPort(id), interface: defaultInterface, request: eipRequest(eip) };
  return { uid: id, createdMs: oldest.createdMs, name: id, holder: id, wants: [want] };
}

/** The addresses that the annotations of a pod name and named before, if its change alters who names them. */
function idsOf(before: Pod | undefined, after: Pod | undefined): readonly string[] {
  return podRuleStores.flatMap((store) =>
    ruleOfPodText(before, store) === ruleOfPodText(after, store)
      ? []
      : [before, after].flatMap((pod) => (pod && outsideId(pod, store)) ?? []),
  );
}

/** All addresses that annotations of pods name. */
function podIds({ indexes: { externalRulesByEip: rules } }: View): ReadonlySet<string> {
  return new Set(podRuleStores.flatMap((store) => [...rules[store].keys()]));
}

/** The router of a VPC is the holder of its address, whether its OvnEip exists or not. */
function claimant(view: View, name: string): Claimant | undefined {
  if (eipRef(name).kind === 'pods') return podsClaimant(view, name);
  const eip = eipAt(view, name);
  const gateway = eip === undefined || eip.spec.type === 'lrp' ? gatewayPortNamed(view, name) : undefined;
  const vpc = gateway && view.vpcs.get(gateway.vpc);
  const holder = vpc && `gateway-port/${name}`;
  if (eip !== undefined) {
    // One that is being deleted keeps its address until nothing uses it, also over a restart, but gets none.
    const isLeaving = eip.isDeleting && view.allocation(eipPort(name)) === undefined && recordOfEip(eip) === undefined;
    if (eip.spec.type === 'lsp' || isLeaving) return undefined;
    const want = { port: eipPort(name), interface: defaultInterface, request: eipRequest(eip) };
    return { uid: eip.uid, createdMs: eip.createdMs, name, holder: holder ?? eip.uid, wants: [want] };
  }
  if (vpc === undefined || gateway === undefined || holder === undefined) return undefined;
  const request = { value: { subnets: [gateway.subnet] } };
  const want = { port: eipPort(name), interface: defaultInterface, request };
  return { uid: vpc.uid, createdMs: vpc.createdMs, name, holder, wants: [want] };
}

export const eipHolder: HolderKind = {
  prefix: 'eip',
  all: (view) =>
    new Set([
      ...view.ovnEips.keys(),
      ...[...view.iptablesEips.keys()].map(iptablesEipId),
      ...[...view.gatewayPorts.values()].map(gatewayPortName),
      ...podIds(view),
    ]),
  concerns(change, view) {
    if (change.kind === 'pods') return idsOf(change.before, change.after);
    if (change.kind === 'nodes') return outsideOfNode(change.before, change.after);
    if (altersRights(change)) return podIds(view);
    if (change.kind === 'iptablesEips') return [iptablesEipId(change.name)];
    return change.kind === 'ovnEips' ? [change.name] : [];
  },
  claimant,
  *recorded(view) {
    for (const eip of [...view.ovnEips.values(), ...view.iptablesEips.values()].sort(byAge)) {
      const record = recordOfEip(eip);
      yield {
        name: eip.id,
        port: eipPort(eip.id),
        record: satisfies(eipRequest(eip), record) ? record : undefined,
      };
    }
    for (const id of podIds(view)) {
      const ip = parseIp(eipRef(id).name);
      const isHeld = podsEntitled(view, id).some(({ store, pod }) => hasOutside(pod, store));
      const record = isHeld && ip !== undefined ? { subnet: externalSubnet, addresses: [ip] } : undefined;
      yield { name: id, port: eipPort(id), record };
    }
  },
  // Before it is ready its spec may change; a restart would find that the record is not what it asks for.
  followsRequest: true,
};
