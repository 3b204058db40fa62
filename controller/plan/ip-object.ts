import { joinSubnet, label, nodePortName } from '../../lib/api/names.ts';
import type { IpObject } from '../state/objects.ts';
import { addressText } from './node.ts';
import { podPort } from './pod.ts';
import type { View } from './view.ts';

export interface WantedIp {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly spec: IpObject['spec'] & {
    readonly attachSubnets: readonly string[];
    readonly attachIps: readonly string[];
    readonly attachMacs: readonly string[];
    readonly containerID: string;
    readonly podType: string;
  };
}

/** The IP object of a port; undefined while the port has no address. */
function planIp(
  view: View,
  port: string,
  uid: string,
  owner: { podName: string; namespace: string; nodeName: string },
): WantedIp | undefined {
  const allocation = view.allocation(port, uid);
  if (allocation === undefined) return undefined;
  const { subnet, mac, v4 = '', v6 = '' } = allocation;
  const isReserved = view.ips.get(port)?.labels[label.ipReserved] ?? 'false';
  // A label's value has at most 63 characters, a node's name may have more.
  const nodeLabel = owner.nodeName.length > 63 ? {} : { [label.nodeName]: owner.nodeName };
  return {
    name: port,
    labels: { [label.subnet]: subnet, ...nodeLabel, [subnet]: '', [label.ipReserved]: isReserved },
    spec: {
      ...owner,
      subnet,
      ipAddress: addressText(allocation),
      v4IpAddress: v4,
      v6IpAddress: v6,
      macAddress: mac,
      attachSubnets: [],
      attachIps: [],
      attachMacs: [],
      containerID: '',
      podType: '',
    },
  };
}

export function planPodIp(view: View, key: string): WantedIp | undefined {
  const pod = view.pods.get(key);
  if (pod === undefined) return undefined;
  return planIp(view, podPort(pod), pod.uid, { podName: pod.name, namespace: pod.namespace, nodeName: pod.node ?? '' });
}

export function planNodeIp(view: View, name: string): WantedIp | undefined {
  const node = view.nodes.get(name);
  if (node === undefined) return undefined;
  return planIp(view, nodePortName(name), node.uid, { podName: name, namespace: '', nodeName: name });
}

/** Whether this room made the object, and nobody asked to keep it. */
export function isOwnIp(ip: IpObject): boolean {
  const { podName, namespace, subnet } = ip.spec;
  const isNamedSo =
    namespace === ''
      ? ip.name === nodePortName(podName) && subnet === joinSubnet
      : ip.name === `${podName}.${namespace}`;
  return isNamedSo && ip.labels[label.subnet] === subnet && ip.labels[label.ipReserved] !== 'true';
}
