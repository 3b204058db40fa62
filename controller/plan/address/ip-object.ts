import { label } from '../../../lib/api/names.ts';
import { machineOf } from '../../model/interfaces.ts';
import type { IpObject } from '../../model/objects.ts';
import type { HeldPort, View } from '../../model/view.ts';
import { ordinalOf } from '../../settle/address/port-request.ts';
import type { Feature } from '../feature.ts';
import { addressText } from './texts.ts';

export interface WantedIp {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly spec: IpObject['spec'] & {
    readonly attachSubnets: readonly string[];
    readonly attachIps: readonly string[];
    readonly attachMacs: readonly string[];
    readonly containerID: string;
  };
}

type Subject = Pick<IpObject['spec'], 'podName' | 'namespace' | 'nodeName' | 'podType'>;

/** The IP object of a port. */
function planIp(view: View, { port, allocation }: HeldPort, subject: Subject): WantedIp {
  const { subnet, mac, v4 = '', v6 = '' } = allocation;
  const isReserved = view.ips.get(port)?.labels[label.ipReserved] ?? 'false';
  // A label's value has at most 63 characters, a node's name may have more.
  const nodeLabel = subject.nodeName.length > 63 ? {} : { [label.nodeName]: subject.nodeName };
  return {
    name: port,
    labels: { [label.subnet]: subnet, ...nodeLabel, [subnet]: '', [label.ipReserved]: isReserved },
    spec: {
      ...subject,
      subnet,
      ipAddress: addressText(allocation),
      v4IpAddress: v4,
      v6IpAddress: v6,
      macAddress: mac,
      attachSubnets: [],
      attachIps: [],
      attachMacs: [],
      containerID: '',
    },
  };
}

/** Whose addresses outlive the pod, in the field that Kube-OVN's tools read. */
function podTypeOf(view: View, id: string): string {
  const pod = view.pods.get(id);
  if (pod === undefined) return view.statefulSets.has(id.replace(/-\d+$/, '')) ? 'StatefulSet' : 'VirtualMachine';
  if (machineOf(pod) !== undefined) return 'VirtualMachine';
  return ordinalOf(pod) === undefined ? '' : 'StatefulSet';
}

/** IP objects of the ports of `pod/…`, `node/…`, `mcast/…` or `u2o/…`; none while it has no address. */
export function planIps(view: View, key: string): readonly WantedIp[] {
  const [feature, first = '', second = ''] = key.split('/', 3);
  return view.ports(key).flatMap((held): WantedIp[] => {
    if (held.sharers[0] !== key) return [];
    if (feature === 'node')
      return [planIp(view, held, { podName: first, namespace: '', nodeName: first, podType: '' })];
    if (feature === 'mcast' || feature === 'u2o')
      return [planIp(view, held, { podName: '', namespace: '', nodeName: '', podType: '' })];
    if (feature !== 'pod') return [];
    const id = `${first}/${second}`;
    const podType = podTypeOf(view, id);
    const nodeName = view.pods.get(id)?.node ?? '';
    return [planIp(view, held, { podName: second, namespace: first, nodeName, podType })];
  });
}

/** IP objects are told, not planned: the port they are about is looked at when somebody changes one. */
export const ipFeature: Feature = {
  name: 'ip',
  all: (view) => view.ips.keys(),
  reads({ kind, name }) {
    if (kind === 'ports') return name.startsWith('ip/') ? [name.slice('ip/'.length)] : [];
    return kind === 'ips' || kind === 'freed' ? [name] : [];
  },
};
