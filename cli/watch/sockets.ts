/** Parses /proc/net/{tcp,udp}{,6}: sockets that other hosts can send to. In: the text of a file. Out: ports and addresses. Pure. */
import { formatIp, type Ip } from '../../lib/net/ip.ts';
import type { NodeInspection } from '../model/node-inspection.ts';

type Listening = NodeInspection['listening'][number];

/** TCP_LISTEN; a UDP socket without a peer has the value of TCP_CLOSE. */
const listens = { TCP: '0A', UDP: '07' } as const;

export function parseSockets(protocol: Listening['protocol'], text: string): readonly Listening[] {
  return text.split('\n').flatMap((line) => {
    const match = /^\s*\d+: ([0-9A-F]+):([0-9A-F]{4}) \S+ ([0-9A-F]{2}) /.exec(line);
    if (match === null || match[3] !== listens[protocol]) return [];
    const address = addressOf(match[1] ?? '');
    return address === undefined
      ? []
      : [{ protocol, port: Number.parseInt(match[2] ?? '', 16), address: formatIp(address) }];
  });
}

/** 32-bit words in host byte order, which is little-endian on all supported machines. */
function addressOf(hex: string): Ip | undefined {
  if (hex.length !== 8 && hex.length !== 32) return undefined;
  const bytes = (hex.match(/.{8}/g) ?? []).map((word) => (word.match(/../g) ?? []).toReversed().join(''));
  const value = BigInt(`0x${bytes.join('')}`);
  // An IPv4-mapped address of a dual-stack socket.
  if (hex.length === 32 && value >> 32n === 0xffffn) return { family: 4, value: value & 0xffffffffn };
  return { family: hex.length === 8 ? 4 : 6, value };
}
