/** Pods, and the StatefulSets and virtual machines whose ports outlive them. */
import { annotation } from '../../../../lib/api/names.ts';
import { byAge } from '../../../../lib/desired/rights.ts';
import { defaultInterface, interfacesOf, machineOf, portName, wantsNetwork } from '../../../model/interfaces.ts';
import type { Interface } from '../../../model/interfaces.ts';
import { podKey } from '../../../model/objects.ts';
import type { Pod, IpObject } from '../../../model/objects.ts';
import type { View } from '../../../model/view.ts';
import { satisfies } from '../claims.ts';
import type { Claimant, PortWant } from '../claims.ts';
import { isOwnIp } from '../own-ip.ts';
import { ordinalOf, readPortRequest } from '../port-request.ts';
import { recordOfIp, recordOfPod } from '../records.ts';
import type { PortRecord } from '../records.ts';
import type { HolderKind, RecordedPort, KeptPort } from './kind.ts';

function rightHolderOf(view: View, pod: Pod): string {
  const machine = machineOf(pod);
  if (machine !== undefined) return `vm/${pod.namespace}/${machine}`;
  const set = `${pod.namespace}/${pod.owner?.name ?? ''}`;
  const isMember = ordinalOf(pod) !== undefined && view.statefulSets.get(set)?.uid === pod.owner?.uid;
  return isMember ? `statefulset/${set}` : pod.uid;
}

function podClaimant(view: View, pod: Pod): Claimant {
  const { uid, createdMs, namespace } = pod;
  const interfaces = interfacesOf(pod, view.attachments);
  const code = 'InvalidAnnotation';
  const message = 'annotation k8s.v1.cni.cncf.io/networks is neither a list of namespace/name@interface nor JSON';
  const wants = (interfaces ?? [defaultInterface]).map((network): PortWant => {
    const request = interfaces === undefined ? { problem: { code, message } } : readPortRequest(pod, network);
    return { port: portName(pod, network), interface: network, request };
  });
  return { uid, createdMs, name: podKey(pod), holder: rightHolderOf(view, pod), wants, namespace };
}

/** Whether a port stays with its holder while none of the holder's pods exists. `pod` is the name of the last one. */
function isKept(view: View, holder: string, pod: string): boolean {
  const slash = holder.indexOf('/');
  const [kind, name] = [holder.slice(0, slash), holder.slice(slash + 1)];
  if (kind === 'vm') {
    const [machine, instance] = [view.virtualMachines.get(name), view.virtualMachineInstances.get(name)];
    return [machine, instance].some((one) => one !== undefined && !one.isDeleting);
  }
  const set = kind === 'statefulset' ? view.statefulSets.get(name) : undefined;
  if (set === undefined || set.isDeleting) return false;
  const ordinal = Number(pod.slice(set.name.length + 1));
  return ordinal >= set.start && ordinal < set.start + set.replicas;
}

interface PodRecord extends RecordedPort {
  /** The Vip whose address the port uses. */
  readonly lender: string | undefined;
}

/** Records of ports with an IP object first, then those with a row. */
function podRecords(
  candidates: Iterable<Pod>,
  view: View,
  rows: ReadonlyMap<string, PortRecord>,
): readonly PodRecord[] {
  const pods = [...candidates].filter(wantsNetwork).sort(byAge);
  const all = pods.flatMap((pod): readonly (PodRecord & { readonly rank: number })[] => {
    const { wants, holder, uid } = podClaimant(view, pod);
    return wants.map(({ port, interface: network, request }) => {
      const [ip, row] = [view.ips.get(port), rows.get(port)];
      const mayHave = (record: PortRecord): boolean => satisfies(request, record);
      const isInherited = holder !== uid;
      const lender = 'value' in request ? request.value.vip : undefined;
      const record = recordOfPod(pod, network, { ip, row, mayHave, isInherited });
      return { name: podKey(pod), port, record, lender, rank: ip !== undefined ? 0 : row !== undefined ? 1 : 2 };
    });
  });
  return all.sort((a, b) => a.rank - b.rank);
}

function* keptPorts(view: View): Generator<KeptPort> {
  for (const ip of view.ips.values()) {
    const { podName, namespace, podType } = ip.spec;
    if (!isOwnIp(ip) || podType === '') continue;
    const owner = podType === 'StatefulSet' ? podName.replace(/-\d+$/, '') : ip.name.slice(0, ip.name.indexOf('.'));
    const holder = `${podType === 'StatefulSet' ? 'statefulset' : 'vm'}/${namespace}/${owner}`;
    const record = recordOfIp(ip);
    if (record === undefined || !isKept(view, holder, podName)) continue;
    yield { name: `${namespace}/${podName}`, port: ip.name, record, holder, interface: interfaceOf(ip) };
  }
}

/** The interface, parsed from the object's name: `db-0.default`, `db-0.default.net.default.ovn`, `db-0.default.net.default.ovn.net2`. */
export function interfaceOf(ip: IpObject): Interface {
  const [, provider, name] = /^[^.]+\.[^.]+\.(.+\.ovn)(?:\.([^.]+))?$/.exec(ip.name) ?? [];
  if (provider === undefined) return defaultInterface;
  return { provider, isDefault: false, ...(name === undefined ? {} : { name }) };
}

/** The kind of holder whose addresses outlive the pod, in the field that Kube-OVN's tools read. */
function podTypeOf(view: View, id: string): string {
  const pod = view.pods.get(id);
  if (pod === undefined) return view.statefulSets.has(id.replace(/-\d+$/, '')) ? 'StatefulSet' : 'VirtualMachine';
  if (machineOf(pod) !== undefined) return 'VirtualMachine';
  return ordinalOf(pod) === undefined ? '' : 'StatefulSet';
}

/** The pod that an IP object names; the pod need not exist. */
function podOf(ip: IpObject | undefined): readonly string[] {
  const { podName = '', namespace = '' } = ip?.spec ?? {};
  return podName === '' || namespace === '' ? [] : [`${namespace}/${podName}`];
}

export const podHolder: HolderKind = {
  prefix: 'pod',
  all: (view) => new Set([...view.pods.keys(), ...[...view.ips.values()].flatMap(podOf)]),
  concerns(change, view) {
    if (change.kind === 'pods') return [change.name];
    if (change.kind === 'ips') return podOf(change.after ?? change.before);
    // Pods name attachments, but no index leads from an attachment to its pods.
    return change.kind === 'attachments' ? view.pods.keys() : [];
  },
  claimant(view, name) {
    const pod = view.pods.get(name);
    return pod !== undefined && wantsNetwork(pod) ? podClaimant(view, pod) : undefined;
  },
  recorded: (view, rows) => podRecords(view.pods.values(), view, rows).filter(({ lender }) => lender === undefined),
  borrowed(view, rows) {
    const borrowers = view.pods.values().filter(({ annotations }) => annotations[annotation.vip] !== undefined);
    return podRecords(borrowers, view, rows).filter(({ lender }) => lender !== undefined);
  },
  kept: keptPorts,
  isKept: (view, holder, name) => isKept(view, holder, name.slice(name.indexOf('/') + 1)),
  ipSubject(view, id) {
    const [namespace = '', podName = ''] = id.split('/', 2);
    return { podName, namespace, nodeName: view.pods.get(id)?.node ?? '', podType: podTypeOf(view, id) };
  },
  leavesReservation: true,
};
