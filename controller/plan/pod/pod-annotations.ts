/** Annotations of a pod about its interfaces, and the condition that vouches for them or reports why there are none. */
import { annotation } from '../../../lib/api/names.ts';
import { addressCondition, vouchFor } from '../../../lib/api/pod-addresses.ts';
import type { Problem } from '../../../lib/desired/problem.ts';
import { formatCidr } from '../../../lib/net/cidr.ts';
import type { Allocation, SubnetNet } from '../../ipam/subnet-pool.ts';
import { addressText } from '../address/texts.ts';
import { podGateway } from '../underlay/router-addresses.ts';
import { hasRouterPort } from '../../model/net-in-force.ts';
import type { NetInForce } from '../../model/net-in-force.ts';
import type { Pod } from '../../model/objects.ts';
import type { WantedCondition } from '../report.ts';
import type { HeldPort, View } from '../../model/view.ts';
import { vpcNameOf } from '../../model/objects.ts';
import { annotationOf, annotationPrefix, machineOf } from '../../model/interfaces.ts';
import { permanentProblem } from './port-problems.ts';

/** CIDRs and gateways of the families a port has; undefined while there is no gateway to name. */
function netTexts(
  view: View,
  net: SubnetNet,
  { subnet, v4, v6 }: Allocation,
): { readonly cidr: string; readonly gateway: string } | undefined {
  const parts = [v4 === undefined ? undefined : net.v4, v6 === undefined ? undefined : net.v6];
  const given = parts.filter((part) => part !== undefined);
  const gateways = given.map(({ cidr }) => podGateway(view, subnet, cidr.family));
  if (gateways.includes(undefined)) return undefined;
  return { cidr: given.map(({ cidr }) => formatCidr(cidr)).join(','), gateway: gateways.join(',') };
}

/** Null removes an annotation. */
type Annotations = Readonly<Record<string, string | null>>;

/** The router of the interface's network, if it has a port there, and the VLAN. */
function placeAnnotations(net: NetInForce, vpc: string): Annotations {
  const { underlay } = net;
  return {
    logical_router: hasRouterPort(net) ? vpc : null,
    vlan_id: underlay === undefined ? null : String(underlay.vlan),
    provider_network: underlay === undefined ? null : underlay.provider,
  };
}

function interfaceAnnotations(view: View, { interface: network, allocation }: HeldPort): Annotations | undefined {
  const net = view.verdicts.get(allocation.subnet)?.net;
  const texts = net && netTexts(view, net, allocation);
  if (net === undefined || texts === undefined) return undefined;
  const all: Annotations = {
    allocated: 'true',
    routed: 'true',
    ip_address: addressText(allocation),
    mac_address: allocation.mac,
    cidr: texts.cidr,
    gateway: texts.gateway,
    logical_switch: allocation.subnet,
    ...placeAnnotations(net, vpcNameOf(view.subnets.get(allocation.subnet)?.spec ?? { vpc: '' })),
    pod_nic_type: 'veth-pair',
  };
  return Object.fromEntries(Object.entries(all).map(([key, value]) => [annotationOf(network, key), value]));
}

/** Whether the pod was given addresses before: it may run with them. */
function hasAddresses({ addressCondition: observed }: Pod): boolean {
  return observed?.status === 'True';
}

/**
 * The annotations that the node's daemon waits for, of all interfaces at once. Undefined while an interface has no address,
 * or if a new pod requests something impossible: a pod must not start without its limits and routes. A running pod keeps its network.
 */
export function planPodAnnotations(view: View, key: string): Annotations | undefined {
  const pod = view.pods.get(key);
  const held = view.ports(`pod/${key}`);
  if (pod === undefined || held.length === 0 || view.addressProblem(`pod/${key}`) !== undefined) return undefined;
  if (!hasAddresses(pod) && permanentProblem(view, key) !== undefined) return undefined;
  // The annotation determines the port's name, so a pod without a virtual machine must not have it.
  let all: Annotations = { [annotation.virtualMachine]: machineOf(pod) ?? null };
  for (const one of held) {
    const annotations = interfaceAnnotations(view, one);
    if (annotations === undefined) return undefined;
    all = { ...all, ...annotations };
  }
  return all;
}

/** The annotation by which the node's daemon stops waiting, because of a permanent problem. */
export function planProblemNote(view: View, key: string): Readonly<Record<string, string | null>> {
  const problem = permanentProblem(view, key);
  return { [annotation.problem]: problem === undefined ? null : `${problem.code}: ${problem.message}` };
}

/**
 * The condition about the pod's addresses; undefined if it stays as it is. `annotations` are the planned ones,
 * `refused` is the database error for its ports.
 */
export function planPodCondition(
  view: View,
  key: string,
  { annotations, refused }: { readonly annotations: Annotations | undefined; readonly refused: Problem | undefined },
): WantedCondition | undefined {
  const held = view.ports(`pod/${key}`);
  if (annotations !== undefined) {
    const names = held.map(({ interface: network }) => annotationPrefix(network));
    return { type: addressCondition, status: 'True', reason: 'Allocated', message: vouchFor(annotations, names) };
  }
  const pod = view.pods.get(key);
  const problem = view.addressProblem(`pod/${key}`) ?? refused ?? permanentProblem(view, key);
  const keepsNetwork = pod !== undefined && hasAddresses(pod) && held.length > 0;
  if (problem === undefined || keepsNetwork) return undefined;
  return { type: addressCondition, status: 'False', reason: problem.code, message: problem.message };
}
