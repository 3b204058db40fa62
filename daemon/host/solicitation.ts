/**
 * Frames that ask for the owner of an address in a VLAN, their answers, and those by which an owner announces itself (ARP by RFC 826 and 5227, neighbour
 * discovery by RFC 4861). Pure.
 */
import { ipBytes, macBytes, macText } from '../../lib/netlink/message.ts';

export interface Solicitation {
  /** 1 to 4094. */
  readonly vlan: number;
  /** MAC address of the sender; answers go to it only. */
  readonly mac: string;
  readonly address: string;
}

export interface NeighbourAnswer {
  /** MAC address of the sender of the question. */
  readonly to: string;
  /** 4 or 16 bytes. */
  readonly address: Buffer;
  readonly mac: string;
}

const ethertype = { arp: 0x0806, vlan: 0x8100, ipv6: 0x86dd } as const;
const arpFixed = Buffer.from([0, 1, 8, 0, 6, 4, 0]);
const arpReply = 2;
const icmpv6 = 58;
const neighbourSolicitation = 135;
const neighbourAdvertisement = 136;
const sourceLinkLayer = 1;
const targetLinkLayer = 2;
const noMac = Buffer.alloc(6);

export function u16Network(value: number): Buffer {
  return Buffer.from([value >> 8, value & 0xff]);
}

export function solicitationFrame({ vlan, mac, address }: Solicitation): Buffer {
  const [own, wanted] = [macBytes(mac), ipBytes(address)];
  const isV4 = wanted.length === 4;
  const to = isV4 ? Buffer.alloc(6, 0xff) : Buffer.concat([Buffer.from([0x33, 0x33, 0xff]), wanted.subarray(13)]);
  const tag = [u16Network(ethertype.vlan), u16Network(vlan)];
  const type = u16Network(isV4 ? ethertype.arp : ethertype.ipv6);
  return Buffer.concat([to, own, ...tag, type, isV4 ? arpProbe(own, wanted) : neighbourQuestion(own, wanted)]);
}

/** With sender address 0.0.0.0, so that no host updates its ARP cache (RFC 5227 §2.1.1). */
function arpProbe(own: Buffer, wanted: Buffer): Buffer {
  return Buffer.concat([arpFixed, Buffer.from([1]), own, Buffer.alloc(4), noMac, wanted]);
}

/** Sent from a link-local address: answers to a question without source address would go to all nodes. */
function neighbourQuestion(own: Buffer, wanted: Buffer): Buffer {
  const group = Buffer.concat([Buffer.from('ff0200000000000000000001ff', 'hex'), wanted.subarray(13)]);
  const option = Buffer.concat([Buffer.from([sourceLinkLayer, 1]), own]);
  return neighbourPacket(
    own,
    group,
    Buffer.concat([Buffer.from([neighbourSolicitation, 0, 0, 0, 0, 0, 0, 0]), wanted, option]),
  );
}

export interface Announcement {
  /** 1 to 4094; undefined if the frame has no tag. */
  readonly vlan: number | undefined;
  /** MAC address of the owner. */
  readonly mac: string;
  readonly address: string;
  /** Whether hosts may use the owner as their gateway. */
  readonly isRouter: boolean;
}

/** A gratuitous ARP request (RFC 5227 §3), or an unsolicited neighbour advertisement (RFC 4861 §7.2.6), to all hosts. */
export function announcementFrame({ vlan, mac, address, isRouter }: Announcement): Buffer {
  const [own, owned] = [macBytes(mac), ipBytes(address)];
  const isV4 = owned.length === 4;
  const to = isV4 ? Buffer.alloc(6, 0xff) : Buffer.from('333300000001', 'hex');
  const tag = vlan === undefined ? [] : [u16Network(ethertype.vlan), u16Network(vlan)];
  const type = u16Network(isV4 ? ethertype.arp : ethertype.ipv6);
  return Buffer.concat([to, own, ...tag, type, isV4 ? gratuitousArp(own, owned) : advertisement(own, owned, isRouter)]);
}

function gratuitousArp(own: Buffer, owned: Buffer): Buffer {
  return Buffer.concat([arpFixed, Buffer.from([1]), own, owned, noMac, owned]);
}

/** Flags of an advertisement: of a router, and to replace what is known. */
const [routerFlag, overrideFlag] = [0x80, 0x20];

function advertisement(own: Buffer, owned: Buffer, isRouter: boolean): Buffer {
  const flags = (isRouter ? routerFlag : 0) | overrideFlag;
  const option = Buffer.concat([Buffer.from([targetLinkLayer, 1]), own]);
  const allNodes = Buffer.from('ff020000000000000000000000000001', 'hex');
  const header = Buffer.from([neighbourAdvertisement, 0, 0, 0, flags, 0, 0, 0]);
  return neighbourPacket(own, allNodes, Buffer.concat([header, owned, option]));
}

/** From the link-local address of the sender, with the checksum. */
function neighbourPacket(own: Buffer, to: Buffer, message: Buffer): Buffer {
  const source = Buffer.concat([Buffer.from('fe80000000000000', 'hex'), interfaceId(own)]);
  const pseudo = Buffer.concat([source, to, Buffer.from([0, 0, 0, message.length, 0, 0, 0, icmpv6])]);
  message.writeUInt16BE(checksum(Buffer.concat([pseudo, message])), 2);
  const header = Buffer.from([0x60, 0, 0, 0, 0, message.length, icmpv6, 255]);
  return Buffer.concat([header, source, to, message]);
}

/** EUI-64 (RFC 4291, appendix A). */
function interfaceId(mac: Buffer): Buffer {
  const [first = 0, ...rest] = mac;
  return Buffer.from([first ^ 2, ...rest.slice(0, 2), 0xff, 0xfe, ...rest.slice(2)]);
}

function checksum(data: Buffer): number {
  let sum = 0;
  for (let at = 0; at < data.length; at += 2) sum += data.readUInt16BE(at);
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16);
  return ~sum & 0xffff;
}

/** Undefined for all other frames. The kernel may have removed the VLAN tag. */
export function readNeighbourAnswer(frame: Buffer): NeighbourAnswer | undefined {
  const isTagged = frame.length >= 14 && frame.readUInt16BE(12) === ethertype.vlan;
  const at = isTagged ? 18 : 14;
  if (frame.length < at) return undefined;
  const [type, body] = [frame.readUInt16BE(at - 2), frame.subarray(at)];
  const found = type === ethertype.arp ? ofArp(body) : type === ethertype.ipv6 ? ofAdvertisement(body) : undefined;
  return found && { to: macText(frame.subarray(0, 6)), address: found.address, mac: macText(found.mac) };
}

type Owner = { readonly address: Buffer; readonly mac: Buffer } | undefined;

function ofArp(body: Buffer): Owner {
  const isReply = body.length >= 28 && body.subarray(0, 7).equals(arpFixed) && body[7] === arpReply;
  return isReply ? { mac: body.subarray(8, 14), address: body.subarray(14, 18) } : undefined;
}

/** The option with the MAC address is mandatory in answers to multicast questions. */
function ofAdvertisement(body: Buffer): Owner {
  const message = body.subarray(40);
  const isAnswer = message.length >= 32 && body[6] === icmpv6 && message[0] === neighbourAdvertisement;
  if (!isAnswer || message[24] !== targetLinkLayer) return undefined;
  return { address: message.subarray(8, 24), mac: message.subarray(26, 32) };
}
