/** The flags of the daemon, and the values that follow from them and from the node for the lifetime of the process. */
import { dirname, join } from 'node:path';
import { integrationBridge } from '../lib/api/names.ts';
import { choice, integer, list, port, text, toggle, UsageError, type FlagValues } from '../lib/run/flags.ts';
import { parseIp } from '../lib/net/ip.ts';
import { encapTypes, tunnelOverhead } from '../lib/net/tunnel-overhead.ts';
import { defaultSocket } from './cni/protocol.ts';
import type { Program } from './model/program.ts';
import type { Node } from './model/node.ts';

export const flagSpec = {
  kubeconfig: text("path of a kubeconfig; without it the pod's service account is used", undefined),
  node: text('name of the Node this process runs on'),
  ovs: text('the local Open_vSwitch database', 'unix:/var/run/openvswitch/db.sock'),
  sb: list(
    'southbound database for ovn-controller: tcp:HOST:6642 or ssl:HOST:6642, several of one cluster; without it the ConfigMap isthmus-ovn is followed',
    [],
  ),
  namespace: text('namespace of Isthmus, with that ConfigMap', 'kube-system'),
  'chassis-tls': text(
    'folder of the key and the certificate by which ovn-controller authenticates; it must see them under the same path',
    '/var/run/openvswitch/tls',
  ),
  socket: text('unix socket to serve the CNI plugin on', defaultSocket),
  'encap-ip': text("address for tunnels; the Node's first InternalIP where absent", undefined),
  'encap-type': choice(
    'tunnels that this node offers to the others: two nodes use Geneve if both offer it',
    encapTypes,
    'geneve',
  ),
  'datapath-type': choice(
    'system: the kernel module openvswitch; netdev: ovs-vswitchd itself',
    ['system', 'netdev'],
    'system',
  ),
  mtu: integer('MTU of pods; 0: that of the interface with the tunnel address, less the overhead of a tunnel', 0),
  'mirror-interface': text(
    'interface of the node that gets copies of the packets of mirrored pods; empty: none',
    'mirror0',
  ),
  'mirror-all': toggle('copy the packets of all pods, not only of those with the annotation mirror'),
  'ovs-rundir': text(
    "folder of ovn-controller's control socket, which is asked whether ovn-controller lives, and named in hints",
    '/var/run/ovn',
  ),
  'cni-conflist': text(
    'CNI configuration list to give to the runtime once the node is ready; its name is kept. Without it none is given',
    undefined,
  ),
  'cni-conf-dir': text("the runtime's folder of CNI configurations", '/etc/cni/net.d'),
  pod: text("namespace/name of the daemon's own pod, by which it knows that its release is uninstalled", undefined),
  'central-rundir': text(
    "folder that OVN's databases of this node share with the program that leads them; they are also notified there when the node is released",
    undefined,
  ),
  'cni-bin-dir': text(
    "the node's folder of CNI plugins; the plugins that install-cni put there are removed when the node is released. Without this flag they stay",
    undefined,
  ),
  services: choice(
    'on: the node serves ClusterIPs, NodePorts and addresses of load balancers itself, instead of kube-proxy; dry-run: the Node has an annotation with what it would serve, and what would prevent it',
    ['on', 'dry-run', 'off'],
    'off',
  ),
  'nodeport-addresses': list(
    "networks of the node's addresses that have NodePorts; without it all of its addresses but loopback",
    [],
  ),
  'services-healthz-port': port(
    'with --services on: port of /healthz and /livez, where load balancers of clouds ask whether the node takes traffic; 0: none',
    0,
  ),
  'external-ips': choice(
    'Allow: spec.externalIPs of Services are served, so any author of a Service can take over any address (CVE-2020-8554)',
    ['Allow', 'Deny'],
    'Deny',
  ),
  'policy-counters': toggle(
    'count the packets of each rule of policies, as metrics; needs the southbound database and lists NetworkPolicies',
  ),
  'policy-drops': choice(
    'record events on pods about packets that policies dropped, if the controller has --policy-drops: of all pods, or of those in Namespaces with the label isthmus.network/policy-drops=on; needs what --policy-counters needs, and lists these Namespaces',
    ['all', 'labelled', 'off'],
    'off',
  ),
  'southbound-tls': text(
    'folder with the key and the certificate with which this daemon reads the southbound database; without it that of --chassis-tls',
    undefined,
  ),
  'state-dir': text(
    'folder of what must survive a restart of the node: the private key of a gateway with encrypted tunnels',
    '/var/lib/isthmus',
  ),
  'wireguard-socket': text(
    'control socket of wireguard-go, which is used if the kernel has no WireGuard',
    '/run/isthmus/wireguard/isthmus-wg.sock',
  ),
  'wireguard-port': port('UDP port of encrypted tunnels to other clusters', 51_820),
  'metrics-address': text('host:port of /metrics, /healthz and /readyz', ':10665'),
};
export type Settings = FlagValues<typeof flagSpec>;

/** @throws UsageError if there is neither a usable flag nor an InternalIP */
export function encapAddress(settings: Settings, node: Node): string {
  const address = settings.encapIp ?? node.internalIps[0];
  if (address === undefined)
    throw new UsageError(`Node ${node.name} has no InternalIP; give the tunnel address with --encap-ip`, 2);
  if (parseIp(address) === undefined)
    throw new UsageError(`--encap-ip: ${JSON.stringify(address)} is not an IP address`, 2);
  return address;
}

/** Folders of control sockets, by program. The socket of ovs-vswitchd is beside that of its database; for a remote database there is none. */
export function controlFolders({ ovs, ovsRundir }: Pick<Settings, 'ovs' | 'ovsRundir'>): ReadonlyMap<Program, string> {
  const database = /^unix:(.*)$/.exec(ovs)?.[1];
  return new Map([
    ...(database === undefined ? [] : [['ovs-vswitchd', dirname(database)] as const]),
    ['ovn-controller', ovsRundir],
  ]);
}

/** Folder of the network namespaces of gates, beside the socket of the daemon. */
export function gateFolder({ socket }: Pick<Settings, 'socket'>): string {
  return join(dirname(socket), 'gates');
}

/** File of the network namespace of encrypted tunnels, beside the socket of the daemon. */
export function tunnelNamespace({ socket }: Pick<Settings, 'socket'>): string {
  return join(dirname(socket), 'tunnels.netns');
}

/** File of the private key of encrypted tunnels. */
export function keyFile({ stateDir }: Pick<Settings, 'stateDir'>): string {
  return join(stateDir, 'wireguard.key');
}

/** OpenFlow socket of the integration bridge; ovs-vswitchd makes it beside the socket of its database. */
export function bridgeSocket({ ovs }: Pick<Settings, 'ovs'>): string {
  const database = /^unix:(.*)$/.exec(ovs)?.[1] ?? '/var/run/openvswitch/db.sock';
  return join(dirname(database), `${integrationBridge}.mgmt`);
}

/**
 * MTU of pods and ovn0. `links` are the links of the node with their addresses. @throws UsageError if the MTU follows from the
 * interface with the tunnel address, and there is none
 */
export function podMtu(
  settings: Settings,
  encapIp: string,
  links: readonly { readonly mtu: number; readonly addresses: readonly string[] }[],
): number {
  if (settings.mtu !== 0) return settings.mtu;
  const uplink = links.find(({ addresses }) => addresses.includes(encapIp));
  if (uplink === undefined)
    throw new UsageError(
      `no interface of this node has the tunnel address ${encapIp}; correct --encap-ip or give --mtu`,
      2,
    );
  return uplink.mtu - tunnelOverhead(settings.encapType, encapIp);
}
