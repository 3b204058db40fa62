/** An ADD and what the controller gave the pod → the veth pair to make and the sandbox to record. Pure. */
import type { Attachable, PodFacts, Sandbox, SubnetFacts } from '../state/facts.ts';

export interface PodInterface {
  readonly hostName: string;
  readonly name: string;
  readonly mac: string;
  readonly mtu: number;
  /** `10.16.0.5/16` */
  readonly addresses: readonly string[];
  readonly routes: readonly { readonly destination: string; readonly gateway: string }[];
  /** Whether the pod's kernel must finish checksums itself, because the datapath is not the kernel's. */
  readonly isChecksumFinished: boolean;
}

export interface PodInterfaceInput {
  readonly request: { readonly containerId: string; readonly ifname: string; readonly netns: string };
  readonly pod: PodFacts;
  readonly network: Attachable;
  readonly subnet: SubnetFacts | undefined;
  readonly nodeMtu: number;
  readonly isUserspaceDatapath: boolean;
}

const defaultRoute = (ip: string): string => (ip.includes(':') ? '::/0' : '0.0.0.0/0');

export function planPodInterface(input: PodInterfaceInput): { readonly link: PodInterface; readonly sandbox: Sandbox } {
  const { request, pod, network } = input;
  const hostInterface = hostInterfaceName(request.containerId, request.ifname);
  return {
    link: {
      hostName: hostInterface,
      name: request.ifname,
      mac: network.mac,
      mtu: input.subnet?.mtu ?? input.nodeMtu,
      addresses: network.addresses.map(({ ip, prefix }) => `${ip}/${prefix}`),
      routes: network.addresses.flatMap(({ ip, gateway }) =>
        gateway === undefined ? [] : [{ destination: defaultRoute(ip), gateway }],
      ),
      isChecksumFinished: input.isUserspaceDatapath,
    },
    sandbox: {
      containerId: request.containerId,
      ifname: request.ifname,
      netns: request.netns,
      podNamespace: pod.namespace,
      podName: pod.name,
      podUid: pod.uid,
      hostInterface,
      mac: network.mac,
      ips: network.addresses.map(({ ip }) => ip),
    },
  };
}

/**
 * `<first 12 of the container id>_h`, as Kube-OVN names it; for ids that are not random hexadecimal, and for further
 * interfaces of a container, a hash stands there instead, because their first characters may repeat.
 */
export function hostInterfaceName(containerId: string, ifname: string): string {
  const isRandom = /^[0-9a-f]{12,}$/.test(containerId);
  return `${isRandom && ifname === 'eth0' ? containerId.slice(0, 12) : hash48(`${containerId}/${ifname}`)}_h`;
}

/** FNV-1a of 64 bits, its first 12 hexadecimal digits. */
function hash48(text: string): string {
  let hash = 0xcbf29ce484222325n;
  for (const byte of new TextEncoder().encode(text)) hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100000001b3n);
  return hash.toString(16).padStart(16, '0').slice(0, 12);
}
