/** What a pod is told of its interfaces, by annotations. */
import { annotation } from '../../../lib/api/names.ts';
import { formatCidr } from '../../../lib/net/cidr.ts';
import type { Allocation, SubnetNet } from '../../ipam/subnet-pool.ts';
import { addressText } from '../address/texts.ts';
import { gatewayIp } from '../subnet/subnet-net.ts';
import type { HeldPort, View } from '../view.ts';
import { vpcNameOf } from '../vpc/default-subnet.ts';
import { annotationOf, machineOf } from './interfaces.ts';
import { permanentProblem } from './port-problems.ts';

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
  const key = (name: string): string => annotationOf(network, name);
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

/**
 * What the node's daemon waits for, of all interfaces at once; undefined while one of them has no address, or the pod asks
 * for what cannot be done: it does not start without its limits and routes. A pod that runs keeps what it has.
 */
export function planPodAnnotations(view: View, key: string): Readonly<Record<string, string>> | undefined {
  const pod = view.pods.get(key);
  const held = view.ports(`pod/${key}`);
  if (pod === undefined || held.length === 0 || view.addressProblem(`pod/${key}`) !== undefined) return undefined;
  const isTold = held.every(({ interface: network }) => pod.annotations[annotationOf(network, 'allocated')] === 'true');
  if (!isTold && permanentProblem(view, key) !== undefined) return undefined;
  const machine = machineOf(pod);
  let all: Readonly<Record<string, string>> = machine === undefined ? {} : { [annotation.virtualMachine]: machine };
  for (const one of held) {
    const annotations = interfaceAnnotations(view, one);
    if (annotations === undefined) return undefined;
    all = { ...all, ...annotations };
  }
  return all;
}

/** The note for the node's daemon that there is nothing to wait for; null where there is none to have. */
export function planProblemNote(view: View, key: string): Readonly<Record<string, string | null>> {
  const problem = permanentProblem(view, key);
  return { [annotation.problem]: problem === undefined ? null : `${problem.code}: ${problem.message}` };
}
