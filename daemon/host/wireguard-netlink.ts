/** WireGuard of the kernel, by generic netlink (linux/wireguard.h). A socket belongs to the namespace in which it was opened. */
import { ipText, ipBytes } from '../../lib/netlink/message.ts';
import { openWireGuardSocket, type wg } from '../../lib/netlink/wireguard.ts';
import type { DeviceChange, PeerChange, SeenDevice, SeenPeer } from '../model/wireguard.ts';

const AF = { INET: 2, INET6: 10 } as const;

/** Must be called in the namespace of the device. @throws Error if the kernel refuses */
export async function readKernelDevice(name: string): Promise<SeenDevice> {
  const { socket, close } = await open();
  try {
    return seenDevice(await socket.getDevice(name));
  } finally {
    close();
  }
}

/** Must be called in the namespace of the device. @throws Error if the kernel refuses */
export async function changeKernelDevice(name: string, change: DeviceChange): Promise<void> {
  const { socket, close } = await open();
  try {
    await socket.setDevice(name, deviceOf(change));
  } finally {
    close();
  }
}

async function open() {
  const socket = await openWireGuardSocket();
  return { socket, close: () => socket.socket.socket.close() };
}

export function deviceOf({ privateKey, listenPort, peers }: DeviceChange): wg.Device {
  return {
    ...(privateKey === undefined ? {} : { privateKey: Buffer.from(privateKey, 'base64') }),
    ...(listenPort === undefined ? {} : { listenPort }),
    peers: peers.map(peerOf),
  };
}

function peerOf({ publicKey, isRemoved, endpoint, keepaliveSeconds, allowedIps }: PeerChange): wg.Peer {
  const key = Buffer.from(publicKey, 'base64');
  if (isRemoved === true) return { publicKey: key, flags: { removeMe: true } };
  return {
    publicKey: key,
    ...(endpoint === undefined ? {} : { endpoint: socketAddress(endpoint) }),
    ...(keepaliveSeconds === undefined ? {} : { persistentKeepaliveInterval: keepaliveSeconds }),
    ...(allowedIps === undefined ? {} : { flags: { replaceAllowedIps: true }, allowedIps: allowedIps.map(allowedIp) }),
  };
}

function allowedIp(cidr: string): wg.AllowedIp {
  const [address = '', prefix] = cidr.split('/');
  return {
    family: address.includes(':') ? AF.INET6 : AF.INET,
    ipaddr: ipBytes(address),
    cidrMask: Number(prefix),
  };
}

/** struct sockaddr_in or sockaddr_in6: the port is in network order, the family in that of the machine, here little-endian. */
export function socketAddress(endpoint: string): Buffer {
  const at = endpoint.lastIndexOf(':');
  const address = ipBytes(endpoint.slice(0, at).replace(/^\[(.*)\]$/, '$1'));
  const head = Buffer.alloc(4);
  head.writeUInt16LE(address.length === 4 ? AF.INET : AF.INET6, 0);
  head.writeUInt16BE(Number(endpoint.slice(at + 1)), 2);
  return address.length === 4
    ? Buffer.concat([head, address, Buffer.alloc(8)])
    : Buffer.concat([head, Buffer.alloc(4), address, Buffer.alloc(4)]);
}

export function endpointText(address: Buffer): string {
  const port = address.readUInt16BE(2);
  return address.readUInt16LE(0) === AF.INET
    ? `${ipText(address.subarray(4, 8))}:${port}`
    : `[${ipText(address.subarray(8, 24))}]:${port}`;
}

/** A dump has the peers of a large device in several messages; a peer that does not fit goes on in the next one. */
export function seenDevice(parts: readonly wg.Device[]): SeenDevice {
  const peers = new Map<string, SeenPeer>();
  for (const peer of parts.flatMap((part) => part.peers ?? [])) {
    const publicKey = (peer.publicKey ?? Buffer.alloc(32)).toString('base64');
    const before = peers.get(publicKey);
    const more = (peer.allowedIps ?? []).map(
      ({ ipaddr, cidrMask }) => `${ipText(ipaddr ?? Buffer.alloc(4))}/${cidrMask ?? 0}`,
    );
    peers.set(publicKey, {
      publicKey,
      endpoint: peer.endpoint === undefined ? (before?.endpoint ?? '') : endpointText(peer.endpoint),
      handshakeMs: peer.lastHandshakeTime === undefined ? (before?.handshakeMs ?? 0) : timeOf(peer.lastHandshakeTime),
      receivedBytes: Number(peer.rxBytes ?? before?.receivedBytes ?? 0),
      sentBytes: Number(peer.txBytes ?? before?.sentBytes ?? 0),
      keepaliveSeconds: peer.persistentKeepaliveInterval ?? before?.keepaliveSeconds ?? 0,
      allowedIps: [...(before?.allowedIps ?? []), ...more],
    });
  }
  const [first] = parts;
  const key = first?.privateKey;
  return {
    privateKey: key === undefined || key.every((byte) => byte === 0) ? '' : key.toString('base64'),
    listenPort: first?.listenPort ?? 0,
    peers: [...peers.values()],
  };
}

/** struct __kernel_timespec: seconds and nanoseconds of 64 bits. */
function timeOf(bytes: Buffer): number {
  return Number(bytes.readBigInt64LE(0)) * 1000;
}
