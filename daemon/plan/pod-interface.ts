/** An ADD and what the pod's annotations say of the interface → the veth pair to make and the sandbox to record. Pure. */
import { defaultProvider } from '../../lib/api/names.ts';
import type { Attachable, InterfaceFacts, PodFacts, Route, Sandbox, SubnetFacts } from '../model/facts.ts';
import { hash48 } from '../model/hash48.ts';
import { podMtu } from './pod-mtu.ts';

export interface PodRoute extends Route {
  /** The pod may have a route to that destination already, of another interface: this one takes its place. */
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
  /** Whether the pod takes what its router advertises; never of anybody else. */
  readonly acceptsRouterAdvertisements: boolean;
  /** Whether the pod's kernel must finish checksums itself, because the datapath is not the kernel's. */
  readonly isChecksumFinished: boolean;
}

export interface PodInterfaceInput {
  readonly request: {
    readonly containerId: string;
    readonly ifname: string;
    readonly network: string | undefined;
    readonly netns: string;
    /** One of `hostInterfaceNames`. */
    readonly hostInterface: string;
  };
  readonly pod: PodFacts;
  readonly facts: Pick<InterfaceFacts, 'provider' | 'hasDefaultRoute'>;
  readonly network: Attachable;
  /** Those the user asks for. */
  readonly routes: readonly Route[];
  readonly subnet: SubnetFacts | undefined;
  readonly nodeMtu: number;
  /** Of the node's interface in the provider network of an underlay subnet. */
  readonly nicMtu?: number | undefined;
  readonly isUserspaceDatapath: boolean;
}

/** The interface runtimes ask for first; with an attachment as default network it is the attachment's. */
const mainInterface = 'eth0';

export function planPodInterface(input: PodInterfaceInput): { readonly link: PodInterface; readonly sandbox: Sandbox } {
  const { request, pod, facts, network } = input;
  return {
    link: {
      hostName: request.hostInterface,
      name: request.ifname,
      mac: network.mac,
      mtu: podMtu(input.subnet, input.nodeMtu, input.nicMtu),
      addresses: network.addresses.map(({ ip, prefix }) => `${ip}/${prefix}`),
      routes: planRoutes(input),
      acceptsRouterAdvertisements: input.subnet?.hasRouterAdvertisements === true,
      isChecksumFinished: input.isUserspaceDatapath,
    },
    sandbox: {
      containerId: request.containerId,
      ifname: request.ifname,
      network: request.network,
      provider: facts.provider,
      port: portOf(pod, facts.provider),
      netns: request.netns,
      podNamespace: pod.namespace,
      podName: pod.name,
      podUid: pod.uid,
      hostInterface: request.hostInterface,
      mac: network.mac,
      ips: network.addresses.map(({ ip }) => ip),
    },
  };
}

/** `web.default`, `web.default.net1.default.ovn`, and `.net2` behind the latter where it is attached more than once. */
function portOf({ portOwner }: PodFacts, provider: string): string {
  return provider === defaultProvider ? portOwner : `${portOwner}.${provider}`;
}

function planRoutes({ request, facts, network, routes }: PodInterfaceInput): readonly PodRoute[] {
  const isMain = facts.provider === defaultProvider || request.ifname === mainInterface;
  const hasDefault = facts.hasDefaultRoute ?? isMain;
  const defaults = network.addresses.flatMap(({ ip, gateway }) =>
    gateway === undefined || !hasDefault ? [] : [{ destination: ip.includes(':') ? '::/0' : '0.0.0.0/0', gateway }],
  );
  const own = defaults.filter(({ destination }) => routes.every((route) => route.destination !== destination));
  // An attachment comes after the main interface: asking for the default route means taking it over.
  return [...own, ...routes].map((route) => ({ ...route, isReplacing: !isMain && route.destination.endsWith('/0') }));
}

/**
 * Names for the node's end, the second for where another container has the first: `<first 12 of the container id>_h`, as
 * Kube-OVN names it, then one with a hash. For ids that are not random hexadecimal, and for further interfaces of a
 * container, there is the hash only, because their first characters may repeat.
 */
export function hostInterfaceNames(containerId: string, ifname: string): readonly [string, ...string[]] {
  const hashed = `${hash48(`${containerId}/${ifname}`)}_h`;
  const isRandom = /^[0-9a-f]{12,}$/.test(containerId);
  return isRandom && ifname === mainInterface ? [`${containerId.slice(0, 12)}_h`, hashed] : [hashed];
}

/** Whether a name is of those that `hostInterfaceNames` gives. */
export function isHostInterfaceName(name: string): boolean {
  return /^[0-9a-f]{12}_h$/.test(name);
}
