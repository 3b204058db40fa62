// Path attributes as the bytes of the wire (RFC 4271 §4.3, RFC 4760, RFC 1997, RFC 8092): what comes in is `PathAttributes`, what
// goes out is one byte string an attribute, in the order of their type codes. Both API generations take and give these bytes alike,
// so nothing of a generation may appear here. Reading back is needed for the diff only: unknown attributes are kept as bytes.
import { addressBytes, addressText } from './address.ts';
import { communityWord, largeCommunityWords } from './communities.ts';
import { GobgpInvalidArgument } from './errors.ts';
import { type AddressFamily, encodePrefix, familyNumber } from './nlri.ts';

/** What a path says besides its prefix. */
export interface PathAttributes {
  /** An address; 0.0.0.0 and :: stand for the speaker's own address on each session. */
  readonly nextHop: string;
  /** Autonomous systems to prepend, nearest first; gobgpd adds its own. */
  readonly asPath?: readonly number[];
  readonly med?: number;
  /** Sent on iBGP sessions only. */
  readonly localPref?: number;
  /** `asn:value`, 16 bits each. */
  readonly communities?: readonly string[];
  /** `asn:value:value`, 32 bits each. */
  readonly largeCommunities?: readonly string[];
}

const type = {
  origin: 1,
  asPath: 2,
  nextHop: 3,
  med: 4,
  localPref: 5,
  communities: 8,
  mpReach: 14,
  largeCommunities: 32,
} as const;
const flag = { optional: 0x80, transitive: 0x40, extendedLength: 0x10 } as const;

/** One byte string per attribute, ordered by type. @throws GobgpInvalidArgument */
export function encodeAttributes(family: AddressFamily, prefix: string, attributes: PathAttributes): Uint8Array[] {
  const out: Uint8Array[] = [
    attribute(flag.transitive, type.origin, Uint8Array.of(0)),
    attribute(flag.transitive, type.asPath, asPathValue(attributes.asPath ?? [])),
  ];
  const nextHop = addressBytes(attributes.nextHop);
  const isPlainNextHop = family === 'ipv4-unicast' && nextHop.length === 4;
  if (isPlainNextHop) out.push(attribute(flag.transitive, type.nextHop, nextHop));
  if (attributes.med !== undefined) out.push(attribute(flag.optional, type.med, words([attributes.med])));
  if (attributes.localPref !== undefined)
    out.push(attribute(flag.transitive, type.localPref, words([attributes.localPref])));
  if (attributes.communities?.length) {
    out.push(
      attribute(
        flag.optional | flag.transitive,
        type.communities,
        words(sorted(attributes.communities.map(communityWord))),
      ),
    );
  }
  if (!isPlainNextHop)
    out.push(attribute(flag.optional, type.mpReach, mpReachValue(family, nextHop, encodePrefix(prefix))));
  if (attributes.largeCommunities?.length) {
    const value = attributes.largeCommunities.map(largeCommunityWords).toSorted(compareWords).flat();
    out.push(attribute(flag.optional | flag.transitive, type.largeCommunities, words(value)));
  }
  return out;
}

/**
 * A text that is equal for two sets of attributes exactly when a peer would be told the same. MP_REACH counts by its next hop only:
 * whether gobgpd repeats the NLRI in it differs between its calls.
 */
export function attributesFingerprint(attributes: readonly Uint8Array[]): string {
  return attributes
    .map((bytes) => {
      const code = bytes[1] ?? 0;
      const value = valueOf(bytes);
      return `${code}=${code === type.mpReach ? mpReachNextHop(value) : code === type.nextHop ? addressText(value) : Buffer.from(value).toString('hex')}`;
    })
    .toSorted()
    .join(' ');
}

function attribute(flags: number, code: number, value: Uint8Array): Uint8Array {
  const isLong = value.length > 255;
  const header = isLong
    ? [flags | flag.extendedLength, code, value.length >> 8, value.length & 0xff]
    : [flags, code, value.length];
  return Uint8Array.of(...header, ...value);
}

function valueOf(bytes: Uint8Array): Uint8Array {
  return bytes.subarray(((bytes[0] ?? 0) & flag.extendedLength) === 0 ? 3 : 4);
}

function asPathValue(asns: readonly number[]): Uint8Array {
  if (asns.length === 0) return new Uint8Array();
  if (asns.length > 255)
    throw new GobgpInvalidArgument(`an AS path of ${asns.length} systems does not fit one segment of 255`);
  const sequence = 2;
  return Uint8Array.of(sequence, asns.length, ...words(asns));
}

/** RFC 4760 §3: family, next hop, one reserved byte, the prefix. */
function mpReachValue(family: AddressFamily, nextHop: Uint8Array, nlri: Uint8Array): Uint8Array {
  const { afi, safi } = familyNumber(family);
  return Uint8Array.of(afi >> 8, afi & 0xff, safi, nextHop.length, ...nextHop, 0, ...nlri);
}

function mpReachNextHop(value: Uint8Array): string {
  const length = value[3] ?? 0;
  // A second, link-local address may follow the global one (RFC 2545 §3).
  return addressText(value.subarray(4, 4 + Math.min(length, 16)));
}

function words(values: readonly number[]): Uint8Array {
  const view = new DataView(new ArrayBuffer(values.length * 4));
  for (const [at, value] of values.entries()) {
    if (!Number.isInteger(value) || value < 0 || value > 0xffffffff)
      throw new GobgpInvalidArgument(`${value} does not fit 32 bits`);
    view.setUint32(at * 4, value);
  }
  return new Uint8Array(view.buffer);
}

function sorted(values: readonly number[]): number[] {
  return values.toSorted((left, right) => left - right);
}

function compareWords(left: readonly number[], right: readonly number[]): number {
  const at = left.findIndex((value, index) => value !== right[index]);
  return at < 0 ? 0 : (left[at] ?? 0) - (right[at] ?? 0);
}
