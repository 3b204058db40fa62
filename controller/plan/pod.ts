import { annotation, defaultVpc, podPortName } from '../../lib/api/names.ts';
import { ref } from '../../lib/desired/row.ts';
import type { Desired } from '../../lib/desired/row.ts';
import type { Allocation, SubnetNet } from '../ipam/subnet-pool.ts';
import { podKey } from '../state/objects.ts';
import type { Pod } from '../state/objects.ts';
import { gatewayPortGroup, vendorIds } from './names.ts';
import { addressText, portAddresses } from './node.ts';
import { gatewayIp } from './subnet-net.ts';
import { formatCidr } from '../../lib/net/cidr.ts';
import type { View } from './view.ts';

export function podPort(pod: Pod): string {
  return podPortName(pod.namespace, pod.name);
}

/** Here a pod's address becomes a row: its port, pinned to its addresses, in its subnet's group of its node. */
export function planPod(view: View, key: string): Desired {
  const pod = view.pods.get(key);
  const port = pod === undefined ? undefined : podPort(pod);
  const allocation = port === undefined ? undefined : view.allocation(port, pod?.uid);
  if (pod === undefined || port === undefined || allocation === undefined) return { rows: [] };
  const addresses = [portAddresses(allocation)];
  const row = {
    table: 'Logical_Switch_Port',
    key: port,
    columns: {
      addresses,
      port_security: addresses,
      external_ids: { ...vendorIds, pod: podKey(pod), ls: allocation.subnet },
    },
    parent: { table: 'Logical_Switch', key: allocation.subnet, column: 'ports' },
  };
  if (pod.node === undefined || !view.nodes.has(pod.node)) return { rows: [row] };
  const group = gatewayPortGroup(allocation.subnet, pod.node);
  const member = { table: 'Port_Group', key: group, column: 'ports', values: [ref('Logical_Switch_Port', port)] };
  return { rows: [row], contributions: [member] };
}

/** CIDRs and gateways of the families a port has. */
function netTexts(net: SubnetNet, { v4, v6 }: Allocation): { readonly cidr: string; readonly gateway: string } {
  const parts = [v4 === undefined ? undefined : net.v4, v6 === undefined ? undefined : net.v6];
  const given = parts.filter((part) => part !== undefined);
  return { cidr: given.map(({ cidr }) => formatCidr(cidr)).join(','), gateway: given.map(gatewayIp).join(',') };
}

/** What the node's daemon waits for; undefined while the pod has no address. */
export function planPodAnnotations(view: View, key: string): Readonly<Record<string, string>> | undefined {
  const pod = view.pods.get(key);
  const allocation = pod === undefined ? undefined : view.allocation(podPort(pod), pod.uid);
  const net = allocation === undefined ? undefined : view.verdicts.get(allocation.subnet)?.net;
  if (allocation === undefined || net === undefined) return undefined;
  const { cidr, gateway } = netTexts(net, allocation);
  return {
    [annotation.allocated]: 'true',
    [annotation.routed]: 'true',
    [annotation.ipAddress]: addressText(allocation),
    [annotation.macAddress]: allocation.mac,
    [annotation.cidr]: cidr,
    [annotation.gateway]: gateway,
    [annotation.logicalSwitch]: allocation.subnet,
    [annotation.logicalRouter]: defaultVpc,
    [annotation.podNicType]: 'veth-pair',
  };
}
