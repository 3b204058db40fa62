/**
 * Encrypted tunnels of a gateway. In: GatewayKeySlices, and the chassis name of this node. Out: its address and its peers; the rows of the
 * bridge; and what has to change in WireGuard. Pure.
 */
import type { GatewayKey } from '../../lib/api/kinds/gateway-key-slice.ts';
import { vendor } from '../../lib/api/names.ts';
import type { Desired } from '../../lib/desired/row.ts';
import { cidrContains, formatCidr, parseCidr } from '../../lib/net/cidr.ts';
import { formatIp, parseIp } from '../../lib/net/ip.ts';
import {
  tunnelLinks,
  type DeviceChange,
  type KeySlice,
  type PeerChange,
  type SeenDevice,
  type TunnelsPlan,
} from '../model/wireguard.ts';
import { portRows } from './port-rows.ts';

/** Undefined without a slice of this cluster. Peers that cannot be used are left out. */
export function planTunnels(
  slices: Iterable<KeySlice>,
  chassis: string | undefined,
  isUserspace = true,
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
  const taken = new Set(own.gateways.flatMap((one) => [one.publicKey, one.address]));
  const peers = new Map<string, GatewayKey>();
  for (const slice of all) {
    if (slice.isOwn) continue;
    for (const gateway of slice.gateways) {
      if (!isUsable(gateway) || peers.has(gateway.chassis)) continue;
      if (taken.has(gateway.publicKey) || taken.has(gateway.address)) continue;
      taken.add(gateway.publicKey).add(gateway.address);
      peers.set(gateway.chassis, gateway);
    }
  }
  const sorted = [...peers.values()].sort((a, b) => (a.chassis < b.chassis ? -1 : 1));
  const rules = { node: planNodeRules(formatCidr(cidr), isUserspace), inside: planInsideRules() };
  return { cidr: formatCidr(cidr), address, peers: sorted, rules };
}

function isKey(text: string): boolean {
  return /^[A-Za-z0-9+/]{43}=$/.test(text) && Buffer.from(text, 'base64').length === 32;
}

/** `mac`: nobody outside of the node knows it, so that no frame from a network can reach the bridge. */
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

const accepts = 'type filter hook';

/** On the node: packets for addresses within tunnels come from and go to Open vSwitch only, and tunnels only. */
export function planNodeRules(cidr: string, isUserspace: boolean): string {
  const { device } = tunnelLinks;
  const both = (rest: string): readonly string[] => [`  ip daddr ${cidr} ${rest}`, `  ip saddr ${cidr} ${rest}`];
  // The userspace datapath passes tunnels by the kernel of the node.
  const input = isUserspace ? both('drop') : both(`iifname != "${device}" drop`);
  const output = isUserspace
    ? [`  ip daddr ${cidr} drop`]
    : [
        `  ip daddr ${cidr} oifname != "${device}" drop`,
        `  ip daddr ${cidr} udp dport != 6081 drop`,
        `  ip daddr ${cidr} meta l4proto != udp drop`,
      ];
  return [
    'chain prerouting {',
    `  ${accepts} prerouting priority raw; policy accept;`,
    ...input,
    '}',
    'chain output {',
    `  ${accepts} output priority raw; policy accept;`,
    ...output,
    '}',
    '',
  ].join('\n');
}

/** In the namespace: nothing but tunnels passes, in either direction. */
function planInsideRules(): string {
  const { device, inside } = tunnelLinks;
  return [
    'chain forward {',
    `  ${accepts} forward priority filter; policy drop;`,
    `  iifname "${inside}" oifname "${device}" udp dport 6081 accept`,
    `  iifname "${device}" oifname "${inside}" udp dport 6081 accept`,
    '}',
    ...['input', 'output'].flatMap((at) => [`chain ${at} {`, `  ${accepts} ${at} priority filter; policy drop;`, '}']),
    '',
  ].join('\n');
}

/** Keeps mappings of address translation open. */
const keepaliveSeconds = 25;

export interface WantedDevice {
  readonly privateKey: string;
  readonly listenPort: number;
  readonly peers: readonly GatewayKey[];
}

/** `endpointOf`: the endpoint to set now; undefined leaves the one that WireGuard has, which may have learned a newer one. */
export function planDevice(
  seen: SeenDevice,
  { privateKey, listenPort, peers }: WantedDevice,
  endpointOf: (peer: GatewayKey) => string | undefined,
): DeviceChange | undefined {
  const known = new Map(seen.peers.map((peer) => [peer.publicKey, peer]));
  const wanted = new Set(peers.map(({ publicKey }) => publicKey));
  const removed = seen.peers
    .filter(({ publicKey }) => !wanted.has(publicKey))
    .map(({ publicKey }): PeerChange => ({ publicKey, isRemoved: true }));
  const set = peers.flatMap((peer): readonly PeerChange[] => {
    const { publicKey, address } = peer;
    const before = known.get(publicKey);
    const allowed = `${address}/32`;
    const endpoint = endpointOf(peer);
    const change = {
      ...(endpoint === undefined ? {} : { endpoint }),
      ...(before?.keepaliveSeconds === keepaliveSeconds ? {} : { keepaliveSeconds }),
      ...(before?.allowedIps.join() === allowed ? {} : { allowedIps: [allowed] }),
    };
    return Object.keys(change).length === 0 ? [] : [{ publicKey, ...change }];
  });
  const change = {
    ...(seen.privateKey === privateKey ? {} : { privateKey }),
    ...(seen.listenPort === listenPort ? {} : { listenPort }),
    peers: [...removed, ...set],
  };
  return Object.keys(change).length === 1 && change.peers.length === 0 ? undefined : change;
}
