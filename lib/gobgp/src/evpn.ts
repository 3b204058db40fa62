// IP prefix routes of EVPN (RFC 9136), type 5: no other type of EVPN is supported. The next hop may be of either family, but FRR 8.4 does
// not use a route whose next hop is an IPv6 address.
import { addressBytes, addressText } from './address.ts';
import { assignedBytes, assignedOfBytes, assignedText, parseAssigned } from './assigned-numbers.ts';
import { GobgpInvalidArgument } from './errors.ts';
import { canonicalPrefix, encodePrefix, familyOfPrefix } from './nlri.ts';

/** Distinguishes an EVPN's route to a prefix from other routes to the same prefix. */
export interface EvpnKey {
  /** Route distinguisher: `asn:number`, `address:number`; an AS of 4 bytes below 65536 is `0.asn`. */
  readonly rd: string;
  /** 32 bits; undefined: 0. */
  readonly ethernetTag?: number;
}

/** Fields of an EVPN's route to a prefix beside its attributes. */
export interface EvpnPrefix extends EvpnKey {
  /** VXLAN network identifier, 1 to 16777215; with a gateway also 0. */
  readonly vni: number;
  /** An address of the prefix's family that another route of the EVPN leads to; undefined: packets go to the next hop. */
  readonly gateway?: string;
}

const routeType = 5;
/** Behind type and length: RD, Ethernet segment, tag and mask; then prefix and gateway of the same size, and the label. */
const at = { rd: 2, segment: 10, tag: 20, mask: 24, prefix: 25 } as const;
const labelSize = 3;
const maxVni = 0xffffff;

/** NLRI bytes of a route. @throws GobgpInvalidArgument */
export function encodeEvpn(prefix: string, evpn: EvpnPrefix): Uint8Array {
  const nlri = encodeEvpnKey(prefix, evpn);
  const { size } = partsOf(nlri);
  const gateway = evpn.gateway === undefined ? new Uint8Array(size) : addressBytes(evpn.gateway);
  if (gateway.length !== size)
    throw new GobgpInvalidArgument(`the gateway ${evpn.gateway} of ${prefix} is of the other family`);
  const least = isZero(gateway) ? 1 : 0;
  if (!Number.isInteger(evpn.vni) || evpn.vni < least || evpn.vni > maxVni)
    throw new GobgpInvalidArgument(`the VNI ${evpn.vni} of ${prefix} is not a whole number from ${least} to ${maxVni}`);
  nlri.set(gateway, at.prefix + size);
  nlri.writeUIntBE(evpn.vni, nlri.length - labelSize, labelSize);
  return nlri;
}

/** NLRI bytes that withdraw a route: all that is not its key is zero. @throws GobgpInvalidArgument */
export function encodeEvpnKey(prefix: string, { rd, ethernetTag = 0 }: EvpnKey): Buffer {
  if (!Number.isInteger(ethernetTag) || ethernetTag < 0 || ethernetTag > 0xffffffff)
    throw new GobgpInvalidArgument(`the Ethernet tag ${ethernetTag} of ${prefix} does not fit 32 bits`);
  const distinguisher = parseAssigned(rd, 'route distinguisher');
  const [mask = 0, ...bytes] = encodePrefix(prefix);
  const size = familyOfPrefix(prefix) === 'ipv4-unicast' ? 4 : 16;
  const nlri = Buffer.alloc(at.prefix + 2 * size + labelSize);
  nlri.set([routeType, nlri.length - 2]);
  nlri.set(assignedBytes(distinguisher, distinguisher.form), at.rd);
  nlri.writeUInt32BE(ethernetTag, at.tag);
  nlri[at.mask] = mask;
  nlri.set(bytes, at.prefix);
  return nlri;
}

/**
 * The route of NLRI bytes; undefined for other types of EVPN, and for undefined types of distinguishers.
 * @throws GobgpInvalidArgument
 */
export function decodeEvpn(nlri: Uint8Array): { readonly prefix: string; readonly evpn: EvpnPrefix } | undefined {
  if (nlri[0] !== routeType) return undefined;
  const { size, gateway, label } = partsOf(nlri);
  const view = new DataView(nlri.buffer, nlri.byteOffset, nlri.byteLength);
  const rd = assignedOfBytes(view.getUint16(at.rd), nlri.subarray(at.rd, at.segment));
  if (!rd) return undefined;
  const address = addressText(nlri.subarray(at.prefix, at.prefix + size));
  return {
    prefix: canonicalPrefix(`${address}/${nlri[at.mask]}`),
    evpn: evpnPrefix(assignedText(rd), view.getUint32(at.tag), label, gateway),
  };
}

/** A route's fields without empty ones. @param gateway 4 or 16 bytes */
export function evpnPrefix(rd: string, ethernetTag: number, vni: number, gateway: Uint8Array): EvpnPrefix {
  return {
    rd,
    ...(ethernetTag !== 0 && { ethernetTag }),
    vni,
    ...(!isZero(gateway) && { gateway: addressText(gateway) }),
  };
}

/** The canonical form of a key. @throws GobgpInvalidArgument */
export function canonicalEvpnKey({ rd, ethernetTag = 0 }: EvpnKey): EvpnKey {
  return { rd: assignedText(parseAssigned(rd, 'route distinguisher')), ...(ethernetTag !== 0 && { ethernetTag }) };
}

/** A text of the NLRI's fields that are not part of the route's key. @throws GobgpInvalidArgument */
export function evpnFingerprint(nlri: Uint8Array): string {
  if (nlri[0] !== routeType) return '';
  const { gateway, label } = partsOf(nlri);
  const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');
  return `label=${label} gateway=${hex(gateway)} segment=${hex(nlri.subarray(at.segment, at.tag))}`;
}

interface Parts {
  /** 4 or 16 bytes. */
  readonly size: number;
  readonly gateway: Uint8Array;
  readonly label: number;
}

function partsOf(nlri: Uint8Array): Parts {
  const size = (nlri.length - at.prefix - labelSize) / 2;
  if ((size !== 4 && size !== 16) || nlri[1] !== nlri.length - 2)
    throw new GobgpInvalidArgument(`NLRI of ${nlri.length} bytes is no EVPN IP prefix route`);
  const [high = 0, middle = 0, low = 0] = nlri.subarray(at.prefix + 2 * size);
  return {
    size,
    gateway: nlri.subarray(at.prefix + size, at.prefix + 2 * size),
    label: (high << 16) | (middle << 8) | low,
  };
}

function isZero(bytes: Uint8Array): boolean {
  return bytes.every((each) => each === 0);
}
