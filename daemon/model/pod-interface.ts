/** The veth pair of one interface of a pod: the wanted one, and the one that the kernel has. */
import type { Route } from './address.ts';
import { hash48 } from './hash48.ts';

export interface PodRoute extends Route {
  /** Whether this route replaces a route of another interface to the same destination. */
  readonly isReplacing: boolean;
}

export interface PodInterface {
  readonly hostName: string;
  readonly name: string;
  readonly mac: string;
  readonly mtu: number;
  /** `10.16.0.5/16` */
  readonly addresses: readonly string[];
  readonly routes: readonly PodRoute[];
  /** Whether the pod accepts router advertisements; port guards drop all but those of its router. */
  readonly acceptsRouterAdvertisements: boolean;
  /** Whether the kernel of the pod must complete checksums, because the datapath is in user space. */
  readonly isChecksumFinished: boolean;
}

/** One end of the veth pair, as the kernel has it. */
export interface SeenLink {
  readonly index: number;
  readonly mac: string;
  readonly mtu: number;
  readonly isUp: boolean;
  readonly peer: number | undefined;
}

export interface SeenPodLink extends SeenLink {
  readonly addresses: readonly { readonly address: string; readonly prefix: number }[];
  /** All routes of the pod's main table, including those over other interfaces. */
  readonly routes: readonly SeenRoute[];
}

export interface SeenRoute {
  readonly destination: string;
  readonly gateway: string | undefined;
  readonly index: number | undefined;
}

/** The interface that runtimes ask for first; with an attachment as default network it belongs to the attachment. */
export const mainInterface = 'eth0';

/**
 * Names for the host end of the pair; the second is for the case that another container has the first. The first is
 * `<first 12 characters of the container id>_h`, as Kube-OVN names it, the second has a hash. Container ids that are not random
 * hexadecimal, and further interfaces of a container, only get the hash, because their first characters may repeat.
 */
export function hostInterfaceNames(containerId: string, ifname: string): readonly [string, ...string[]] {
  const hashed = `${hash48(`${containerId}/${ifname}`)}_h`;
  const isRandom = /^[0-9a-f]{12,}$/.test(containerId);
  return isRandom && ifname === mainInterface ? [`${containerId.slice(0, 12)}_h`, hashed] : [hashed];
}

/** Whether `hostInterfaceNames` can give this name. */
export function isHostInterfaceName(name: string): boolean {
  return /^[0-9a-f]{12}_h$/.test(name);
}
