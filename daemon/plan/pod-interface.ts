/** An ADD request and the annotations of the interface → the veth pair to make and the sandbox to record. Pure. */
import { defaultProvider } from '../../lib/api/names.ts';
import type { InterfaceNetwork, Route } from '../model/address.ts';
import type { InterfaceAnnotations, Pod } from '../model/pod.ts';
import type { Sandbox } from '../model/sandbox.ts';
import type { Subnet } from '../model/subnet.ts';
import { podMtu } from './pod-mtu.ts';
import { mainInterface, type PodInterface, type PodRoute } from '../model/pod-interface.ts';
import { familyOf } from '../../lib/net/ip.ts';

export interface PodInterfaceInput {
  readonly request: {
    readonly containerId: string;
    readonly ifname: string;
    readonly network: string | undefined;
    readonly netns: string;
    /** One of `hostInterfaceNames`. */
    readonly hostInterface: string;
  };
  readonly pod: Pod;
  readonly facts: Pick<InterfaceAnnotations, 'provider' | 'hasDefaultRoute'>;
  readonly network: InterfaceNetwork;
  /** Routes that the user asks for. */
  readonly routes: readonly Route[];
  readonly subnet: Subnet | undefined;
  readonly nodeMtu: number;
  /** MTU of the node's interface in the provider network; only for underlay subnets. */
  readonly nicMtu?: number | undefined;
  readonly isUserspaceDatapath: boolean;
}

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

/** `web.default`, `web.default.net1.default.ovn`, or `web.default.net1.default.ovn.net2` if the network is attached more than once. */
function portOf({ portOwner }: Pod, provider: string): string {
  return provider === defaultProvider ? portOwner : `${portOwner}.${provider}`;
}

function planRoutes({ request, facts, network, routes }: PodInterfaceInput): readonly PodRoute[] {
  const isMain = facts.provider === defaultProvider || request.ifname === mainInterface;
  const hasDefault = facts.hasDefaultRoute ?? isMain;
  const defaults = network.addresses.flatMap(({ ip, gateway }) =>
    gateway === undefined || !hasDefault ? [] : [{ destination: familyOf(ip) === 6 ? '::/0' : '0.0.0.0/0', gateway }],
  );
  const own = defaults.filter(({ destination }) => routes.every((route) => route.destination !== destination));
  // An attachment comes after the main interface, so a default route of its own must replace that of the main interface.
  return [...own, ...routes].map((route) => ({ ...route, isReplacing: !isMain && route.destination.endsWith('/0') }));
}
