import { annotation } from '../../../lib/api/names.ts';
import { ref } from '../../../lib/desired/row.ts';
import type { Contribution, Desired, DesiredRow } from '../../../lib/desired/row.ts';
import { formatCidr } from '../../../lib/net/cidr.ts';
import type { Allocation, SubnetNet } from '../../ipam/subnet-pool.ts';
import { podKey } from '../../state/objects.ts';
import type { Pod } from '../../state/objects.ts';
import { addressText, portAddresses } from '../address/texts.ts';
import type { Feature } from '../feature.ts';
import { gatewayPortGroup, vendorIds } from '../names.ts';
import { gatewayIp } from '../subnet/subnet-net.ts';
import type { HeldPort, View } from '../view.ts';
import { vpcNameOf } from '../vpc/default-subnet.ts';
import { interfaceAnnotation, machineOf, wantsNetwork } from './interfaces.ts';

/** Here a pod's addresses become rows: a port for each, pinned to it, in its subnet's group of its node. */
function planPod(view: View, key: string): Desired {
  const pod = view.pods.get(key);
  if (pod === undefined || !wantsNetwork(pod)) return { rows: [] };
  const held = view.ports(`pod/${key}`).filter(({ sharers }) => sharers[0] === `pod/${key}`);
  return {
    rows: held.map((one) => portRow(pod, one)),
    contributions: held.flatMap((one) => membership(view, pod, one)),
  };
}

function portRow(pod: Pod, { port, allocation }: HeldPort): DesiredRow {
  const addresses = [portAddresses(allocation)];
  return {
    table: 'Logical_Switch_Port',
    key: port,
    columns: {
      addresses,
      port_security: addresses,
      external_ids: { ...vendorIds, pod: podKey(pod), ls: allocation.subnet },
    },
    parent: { table: 'Logical_Switch', key: allocation.subnet, column: 'ports' },
  };
}

function membership(view: View, pod: Pod, { port, allocation }: HeldPort): readonly Contribution[] {
  if (pod.node === undefined || !view.nodes.has(pod.node)) return [];
  const group = gatewayPortGroup(allocation.subnet, pod.node);
  return [{ table: 'Port_Group', key: group, column: 'ports', values: [ref('Logical_Switch_Port', port)] }];
}

/** CIDRs and gateways of the families a port has. */
function netTexts(net: SubnetNet, { v4, v6 }: Allocation): { readonly cidr: string; readonly gateway: string } {
  const parts = [v4 === undefined ? undefined : net.v4, v6 === undefined ? undefined : net.v6];
  const given = parts.filter((part) => part !== undefined);
  return { cidr: given.map(({ cidr }) => formatCidr(cidr)).join(','), gateway: given.map(gatewayIp).join(',') };
}

function interfaceAnnotations(
  view: View,
  { interface: network, allocation }: HeldPort,
): Readonly<Record<string, string>> | undefined {
  const net = view.verdicts.get(allocation.subnet)?.net;
  if (net === undefined) return undefined;
  const { cidr, gateway } = netTexts(net, allocation);
  const key = (name: string): string => interfaceAnnotation(network, name);
  return {
    [key('allocated')]: 'true',
    [key('routed')]: 'true',
    [key('ip_address')]: addressText(allocation),
    [key('mac_address')]: allocation.mac,
    [key('cidr')]: cidr,
    [key('gateway')]: gateway,
    [key('logical_switch')]: allocation.subnet,
    [key('logical_router')]: vpcNameOf(view.subnets.get(allocation.subnet)?.spec ?? { vpc: '' }),
    [key('pod_nic_type')]: 'veth-pair',
  };
}

/** What the node's daemon waits for, of all interfaces at once; undefined while one of them has no address. */
export function planPodAnnotations(view: View, key: string): Readonly<Record<string, string>> | undefined {
  const pod = view.pods.get(key);
  const held = view.ports(`pod/${key}`);
  if (pod === undefined || held.length === 0 || view.addressProblem(`pod/${key}`) !== undefined) return undefined;
  const machine = machineOf(pod);
  let all: Readonly<Record<string, string>> =
    machine === undefined ? {} : { [annotation.virtualMachine]: machine };
  for (const one of held) {
    const annotations = interfaceAnnotations(view, one);
    if (annotations === undefined) return undefined;
    all = { ...all, ...annotations };
  }
  return all;
}

export const podFeature: Feature = {
  name: 'pod',
  all: (view) => view.pods.keys(),
  *reads(change, view) {
    if (change.kind === 'pods') yield change.name;
    else if (change.kind === 'ports') yield* podIds([change.name]);
    else if (change.kind === 'verdicts') yield* podIds(view.keysIn(change.name));
    else if (change.kind === 'nodes' && (change.before === undefined) !== (change.after === undefined))
      yield* view.podsOn(change.name);
  },
  plan: planPod,
};

function* podIds(keys: Iterable<string>): Generator<string> {
  for (const key of keys) if (key.startsWith('pod/')) yield key.slice('pod/'.length);
}
