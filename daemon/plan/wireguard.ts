/**
 * Encrypted tunnels of a gateway. In: GatewayKeySlices, and the chassis name of this node. Out: its address and its peers; the rows of the
 * bridge; and what has to change in WireGuard. Pure.
 */
import type { GatewayKey } from '../../lib/api/kinds/gateway-key-slice.ts';
import { vendor } from '../../lib/api/names.ts';
import type { Desired } from '../../lib/desired/row.ts';
import { cidrContains, formatCidr, parseCidr } from '../../lib/net/cidr.ts';
import { familyOf, formatIp, parseIp } from '../../lib/net/ip.ts';
import {
  linkAddress,
  tunnelLinks,
  type DeviceChange,
  type KeySlice,
  type PeerChange,
  type SeenDevice,
  type TunnelsPlan,
} from '../model/wireguard.ts';
import { portRows } from './port-rows.ts';

export interface TunnelSettings {
  readonly isUserspace: boolean;
  /** The tunnel address of the node. */
  readonly encapIp: string;
  /** Of the WireGuard interface. */
  readonly mtu: number;
}

/** Undefined without a slice of this cluster. Peers that cannot be used are left out. */
export function planTunnels(
  slices: Iterable<KeySlice>,
  chassis: string | undefined,
  { isUserspace, encapIp, mtu }: TunnelSettings,
): TunnelsPlan | undefined {
  const all = [...slices];
  const own = all.find(({ isOwn }) => isOwn);
  const cidr = parseCidr(own?.cidr ?? '');
  if (own === undefined || cidr?.family !== 4) return undefined;
  const isUsable = ({ publicKey, address }: GatewayKey): boolean => {
    const ip = parseIp(address);
    return isKey(publicKey) && ip !== undefined && formatIp(ip) === address && cidrContains(cidr, ip);
  };
  const address = own.gateways.find((one) => one.chassis === chassis && isUsable(one))?.address;
  const taken = new Set(own.gateways.flatMap((one) => [one.publicKey, one.nextKey ?? '', one.address]));
  const peers = new Map<string, GatewayKey>();
  for (const slice of all) {
    if (slice.isOwn) continue;
    for (const gateway of slice.gateways) {
      if (!isUsable(gateway) || peers.has(gateway.chassis)) continue;
      if (taken.has(gateway.publicKey) || taken.has(gateway.address)) continue;
      taken.add(gateway.publicKey).add(gateway.address);
      const { nextKey = '', ...rest } = gateway;
      const isAccepted = isKey(nextKey) && !taken.has(nextKey);
      if (isAccepted) taken.add(nextKey);
      peers.set(gateway.chassis, isAccepted ? gateway : rest);
    }
  }
  const sorted = [...peers.values()].sort((a, b) => (a.chassis < b.chassis ? -1 : 1));
  const end = familyOf(encapIp) === 4 ? encapIp : isUserspace ? linkAddress.bridge : address;
  const text = formatCidr(cidr);
  const rules = {
    node: isUserspace ? planUserspaceRules(text) : planKernelRules(text, address, end, mtu),
    inside: planInsideRules(address, end ?? ''),
  };
  return { cidr: text, address, end: end ?? '', peers: sorted, rules };
}

/** Nothing is wanted any more, but what guards the node stays as long as a tunnel of Open vSwitch ends at an address within tunnels. */
export function isStillUsed(plan: Pick<TunnelsPlan, 'cidr'>, ends: readonly string[]): boolean {
  const cidr = parseCidr(plan.cidr);
  return ends.some((end) => {
    const ip = parseIp(end);
    return cidr !== undefined && ip !== undefined && cidrContains(cidr, ip);
  });
}

function isKey(text: string): boolean {
  return /^[A-Za-z0-9+/]{43}=$/.test(text) && Buffer.from(text, 'base64').length === 32;
}

/** `mac`: nobody outside of the node knows it. */
export function planTunnelBridge(mac: string): Desired {
  const { bridge, port } = tunnelLinks;
  return {
    rows: [
      {
        table: 'Bridge',
        key: bridge,
        parent: { table: 'Open_vSwitch', key: '.', column: 'bridges' },
        columns: {
          datapath_type: 'netdev',
          fail_mode: 'standalone',
          other_config: { 'disable-in-band': 'true', hwaddr: mac },
          external_ids: { vendor },
        },
        shared: ['other_config', 'external_ids'],
      },
      ...portRows(bridge, { type: 'internal' }, {}, {}, bridge),
      ...portRows(port, {}, {}, {}, bridge),
    ],
  };
}

/** Addresses are translated before connections are tracked, and without that: a rule of one packet knows nothing of others. */
function chain(name: string, hook: string, policy: string, rules: readonly string[]): readonly string[] {
  return [`chain ${name} {`, `  type filter hook ${hook}; policy ${policy};`, ...rules.map((rule) => `  ${rule}`), '}'];
}

const isTunnel = 'udp dport 6081';
const isNoTunnel = ['meta l4proto != udp drop', `${isTunnel.replace('dport', 'dport !=')} drop`];

/** On the node, whose kernel has no part in tunnels of the userspace datapath: no packet with an address within tunnels passes. */
export function planUserspaceRules(cidr: string): string {
  const to = `ip daddr ${cidr} drop`;
  return [
    ...chain('prerouting', 'prerouting priority raw', 'accept', [to, `ip saddr ${cidr} drop`]),
    ...chain('output', 'output priority raw', 'accept', [to]),
    '',
  ].join('\n');
}

/**
 * On the node, whose kernel has the tunnels: they leave by WireGuard or not at all, with the address within tunnels in place of `end`, and
 * come back in the same way. The kernel cannot adapt the checksum of a tunnel packet whose inner one is still to be computed, unless it is
 * a large one that is still to be cut. WireGuard vouches for packets, and 0 means no checksum (RFC 768).
 */
export function planKernelRules(
  cidr: string,
  address: string | undefined,
  end: string | undefined,
  mtu: number,
): string {
  const { device } = tunnelLinks;
  const [to, from, arrived] = [`ip daddr ${cidr}`, `ip saddr ${cidr}`, `iifname "${device}"`];
  const out =
    address === undefined ? [`${to} drop`] : [`${to} notrack`, `${to} meta length <= ${mtu} udp checksum set 0`];
  const back =
    address === undefined ? [`${arrived} drop`] : [`${arrived} ip daddr != ${address} drop`, `${arrived} notrack`];
  const isTranslated = address !== undefined && end !== address;
  return [
    ...chain('prerouting', 'prerouting priority raw', 'accept', [
      ...[to, from].map((which) => `${which} iifname != "${device}" drop`),
      ...isNoTunnel.map((rule) => `${arrived} ${rule}`),
      ...back,
      ...(isTranslated ? [`${arrived} udp checksum set 0`, `${arrived} ip daddr set ${end}`] : []),
    ]),
    ...chain('output', 'output priority raw', 'accept', [
      `${to} oifname != "${device}" drop`,
      ...isNoTunnel.map((rule) => `${to} ${rule}`),
      ...out,
      ...(address === undefined ? [] : [`${to} ip saddr set ${address}`]),
    ]),
    '',
  ].join('\n');
}

/**
 * In the namespace: nothing but tunnels passes, in either direction. Open vSwitch has them with the address of the node, which newer
 * ovn-controllers fix as their source, or with that of the bridge; WireGuard with the address within tunnels.
 */
export function planInsideRules(address: string | undefined, end: string): string {
  const { device, inside } = tunnelLinks;
  const sources = [...new Set([end, linkAddress.bridge])];
  const [out, back] = [`iifname "${inside}"`, `iifname "${device}"`];
  const translations =
    address === undefined
      ? []
      : [
          ...sources.map((source) => `${out} ip saddr ${source} ip saddr set ${address}`),
          `${back} ip daddr ${address} ip daddr set ${end}`,
        ];
  const accepted =
    address === undefined
      ? []
      : [
          `${out} oifname "${device}" ip saddr ${address} ${isTunnel} accept`,
          `${back} oifname "${inside}" ip daddr ${end} ${isTunnel} accept`,
        ];
  return [
    ...chain('prerouting', 'prerouting priority raw', 'accept', ['notrack', ...translations]),
    ...chain('forward', 'forward priority filter', 'drop', accepted),
    ...['input', 'output'].flatMap((at) => chain(at, `${at} priority filter`, 'drop', [])),
    '',
  ].join('\n');
}

/** Keeps mappings of address translation open. */
const keepaliveSeconds = 25;

export interface WantedDevice {
  readonly privateKey: string;
  readonly listenPort: number;
  readonly peers: readonly WantedPeer[];
}

/** A key of a gateway. */
export interface WantedPeer {
  readonly publicKey: string;
  readonly endpoints: readonly string[];
  /** Empty for a key that the gateway does not use: WireGuard answers to it, and sends it nothing. */
  readonly address: string;
}

/**
 * Both keys of a gateway that is about to change its key. WireGuard allows an address to one key only, and only a gateway that has changed
 * can make a handshake with the next key: then the address moves, and the other key goes.
 */
export function planPeers(gateways: readonly GatewayKey[], seen: Pick<SeenDevice, 'peers'>): readonly WantedPeer[] {
  const known = new Map(seen.peers.map((peer) => [peer.publicKey, peer]));
  return gateways.flatMap(({ publicKey, nextKey, address, endpoints }): readonly WantedPeer[] => {
    if (nextKey === undefined) return [{ publicKey, address, endpoints }];
    const hasChanged = (known.get(nextKey)?.handshakeMs ?? 0) > 0;
    return [
      { publicKey: nextKey, address: hasChanged ? address : '', endpoints },
      { publicKey, address: hasChanged ? '' : address, endpoints },
    ];
  });
}

/** `endpointOf`: the endpoint to set now; undefined leaves the one that WireGuard has, which may have learned a newer one. */
export function planDevice(
  seen: SeenDevice,
  { privateKey, listenPort, peers }: WantedDevice,
  endpointOf: (peer: WantedPeer) => string | undefined,
): DeviceChange | undefined {
  const known = new Map(seen.peers.map((peer) => [peer.publicKey, peer]));
  const wanted = new Set(peers.map(({ publicKey }) => publicKey));
  const removed = seen.peers
    .filter(({ publicKey }) => !wanted.has(publicKey))
    .map(({ publicKey }): PeerChange => ({ publicKey, isRemoved: true }));
  const set = peers.flatMap((peer): readonly PeerChange[] => {
    const { publicKey, address } = peer;
    const before = known.get(publicKey);
    const allowed = address === '' ? [] : [`${address}/32`];
    const keepalive = address === '' ? 0 : keepaliveSeconds;
    const endpoint = endpointOf(peer);
    const change = {
      ...(endpoint === undefined ? {} : { endpoint }),
      ...((before?.keepaliveSeconds ?? 0) === keepalive ? {} : { keepaliveSeconds: keepalive }),
      ...((before?.allowedIps ?? []).join() === allowed.join() ? {} : { allowedIps: allowed }),
    };
    return before !== undefined && Object.keys(change).length === 0 ? [] : [{ publicKey, ...change }];
  });
  const change = {
    ...(seen.privateKey === privateKey ? {} : { privateKey }),
    ...(seen.listenPort === listenPort ? {} : { listenPort }),
    peers: [...removed, ...set],
  };
  return Object.keys(change).length === 1 && change.peers.length === 0 ? undefined : change;
}
