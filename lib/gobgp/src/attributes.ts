// Path attributes in wire format (RFC 4271 §4.3, RFC 4760, RFC 1997, RFC 4360, RFC 8092). In: `PathAttributes`. Out: one byte string per
// attribute, ordered by type code. Both API generations use the same bytes, so this file must not depend on a generation. For the
// diff, unknown attributes are kept as bytes; decoding omits them.
import { addressBytes, addressText } from './address.ts';
import { communityText, communityWord, largeCommunityWords } from './communities.ts';
import { GobgpInvalidArgument } from './errors.ts';
import { type ExtendedCommunities, extendedCommunitiesOf, extendedCommunityBytes } from './extended-communities.ts';
import { type AddressFamily, familyNumber } from './nlri.ts';

export type Origin = 'igp' | 'egp' | 'incomplete';

/** Attributes of a path to announce. */
export interface PathAttributes extends ExtendedCommunities {
  /** An address; 0.0.0.0 and :: stand for the speaker's own address on each session. */
  readonly nextHop: string;
  /** Autonomous systems to prepend, nearest first; gobgpd adds its own. */
  readonly asPath?: readonly number[];
  /** Undefined: igp. */
  readonly origin?: Origin;
  readonly med?: number;
  /** Sent on iBGP sessions only. */
  readonly localPref?: number;
  /** `asn:value`, 16 bits each. */
  readonly communities?: readonly string[];
  /** `asn:value:value`, 32 bits each. */
  readonly largeCommunities?: readonly string[];
}

/** Attributes of an existing path. */
export interface DecodedAttributes extends ExtendedCommunities {
  /** The global address, if there is also a link-local address. */
  readonly nextHop: string;
  /** Nearest first; the members of a set, which has no order, follow one another. */
  readonly asPath: readonly number[];
  readonly origin?: Origin;
  readonly med?: number;
  readonly localPref?: number;
  readonly communities: readonly string[];
  readonly largeCommunities: readonly string[];
}

export const origins: readonly Origin[] = ['igp', 'egp', 'incomplete'];

const type = {
  origin: 1,
  asPath: 2,
  nextHop: 3,
  med: 4,
  localPref: 5,
  communities: 8,
  mpReach: 14,
  extendedCommunities: 16,
  largeCommunities: 32,
} as const;
const flag = { optional: 0x80, transitive: 0x40, extendedLength: 0x10 } as const;
const maxSegment = 255;

/** The part of a path's bytes that does not depend on its prefix: all except MP_REACH, which contains the prefix. */
interface Encoded {
  readonly before: readonly Uint8Array[];
  /** The next hop of MP_REACH, if there is one. */
  readonly reach: Uint8Array | undefined;
  readonly after: readonly Uint8Array[];
  readonly fingerprint: string;
}

/** Ten thousand paths have a handful of different attributes, and encoding costs ten times as much as a lookup. */
const encoded = new Map<string, Encoded>();
const maxEncoded = 1000;
/** Paths that share one attributes object need no comparison. */
const encodedObjects = {
  'ipv4-unicast': new WeakMap<PathAttributes, Encoded>(),
  'ipv6-unicast': new WeakMap<PathAttributes, Encoded>(),
  'l2vpn-evpn': new WeakMap<PathAttributes, Encoded>(),
} as const;

/**
 * One byte string per attribute, ordered by type; the bytes are shared between calls.
 * @param nlri the bytes of the path's prefix or route
 * @throws GobgpInvalidArgument
 */
export function encodeAttributes(family: AddressFamily, nlri: Uint8Array, attributes: PathAttributes): Uint8Array[] {
  const { before, reach, after } = encodedOf(family, attributes);
  if (!reach) return [...before, ...after];
  return [...before, attribute(flag.optional, type.mpReach, mpReachValue(family, reach, nlri)), ...after];
}

/** The attributesFingerprint of these attributes, for any prefix. @throws GobgpInvalidArgument */
export function fingerprintOf(family: AddressFamily, attributes: PathAttributes): string {
  return encodedOf(family, attributes).fingerprint;
}

/**
 * A text that is equal for two sets of attributes exactly if a peer would receive the same. MP_REACH counts by its next hop only:
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

/** Decodes the attributes that this package knows. */
export function decodeAttributes(attributes: readonly Uint8Array[]): DecodedAttributes {
  const values = new Map(attributes.map((bytes) => [bytes[1] ?? 0, valueOf(bytes)]));
  const numbers = (code: number) => wordsOf(values.get(code) ?? new Uint8Array());
  const reach = values.get(type.mpReach);
  const plain = values.get(type.nextHop);
  const origin = origins[values.get(type.origin)?.[0] ?? origins.length];
  const [med] = numbers(type.med);
  const [localPref] = numbers(type.localPref);
  const large = numbers(type.largeCommunities);
  const extended = values.get(type.extendedCommunities);
  return {
    nextHop: reach ? mpReachNextHop(reach) : plain ? addressText(plain) : '',
    asPath: asPathOf(values.get(type.asPath) ?? new Uint8Array()),
    ...(origin && { origin }),
    ...(med !== undefined && { med }),
    ...(localPref !== undefined && { localPref }),
    communities: numbers(type.communities).map(communityText),
    largeCommunities: Array.from({ length: large.length / 3 }, (_, at) => large.slice(at * 3, at * 3 + 3).join(':')),
    ...(extended && extendedCommunitiesOf(extended)),
  };
}

function encodedOf(family: AddressFamily, attributes: PathAttributes): Encoded {
  const known = encodedObjects[family].get(attributes);
  if (known) return known;
  const found = encodedAlike(family, attributes);
  encodedObjects[family].set(attributes, found);
  return found;
}

function encodedAlike(family: AddressFamily, attributes: PathAttributes): Encoded {
  const key = `${family} ${JSON.stringify(attributes)}`;
  const known = encoded.get(key);
  if (known) return known;
  const made = encode(family, attributes);
  if (encoded.size >= maxEncoded) encoded.clear();
  encoded.set(key, made);
  return made;
}

function encode(family: AddressFamily, attributes: PathAttributes): Encoded {
  const { asPath = [], origin = 'igp', med, localPref, communities = [], largeCommunities = [] } = attributes;
  const shared = flag.optional | flag.transitive;
  const nextHop = addressBytes(attributes.nextHop);
  const isPlain = family === 'ipv4-unicast' && nextHop.length === 4;
  const before = [
    attribute(flag.transitive, type.origin, Uint8Array.of(origins.indexOf(origin))),
    attribute(flag.transitive, type.asPath, asPathValue(asPath)),
  ];
  if (isPlain) before.push(attribute(flag.transitive, type.nextHop, nextHop));
  if (med !== undefined) before.push(attribute(flag.optional, type.med, words([med])));
  if (localPref !== undefined) before.push(attribute(flag.transitive, type.localPref, words([localPref])));
  if (communities.length > 0)
    before.push(attribute(shared, type.communities, words(sorted(communities.map(communityWord)))));
  const after: Uint8Array[] = [];
  const extended = extendedCommunityBytes(attributes);
  if (extended.length > 0) after.push(attribute(shared, type.extendedCommunities, extended));
  if (largeCommunities.length > 0) {
    const value = largeCommunities.map(largeCommunityWords).toSorted(compareWords).flat();
    after.push(attribute(shared, type.largeCommunities, words(value)));
  }
  const reach = isPlain ? undefined : nextHop;
  const reachText = reach
    ? [attribute(flag.optional, type.mpReach, mpReachValue(family, reach, Uint8Array.of(0)))]
    : [];
  return { before, reach, after, fingerprint: attributesFingerprint([...before, ...reachText, ...after]) };
}

function attribute(flags: number, code: number, value: Uint8Array): Uint8Array {
  const isLong = value.length > 255;
  const header = isLong
    ? [flags | flag.extendedLength, code, value.length >> 8, value.length & 0xff]
    : [flags, code, value.length];
  return joined(header, value);
}

function valueOf(bytes: Uint8Array): Uint8Array {
  return bytes.subarray(((bytes[0] ?? 0) & flag.extendedLength) === 0 ? 3 : 4);
}

/** Sequences (type 2) of at most 255 systems, each with 4 bytes (RFC 6793); further systems go to the next segment. */
function asPathValue(asns: readonly number[]): Uint8Array {
  const sequence = 2;
  const out: number[] = [];
  for (let at = 0; at < asns.length; at += maxSegment) {
    const segment = asns.slice(at, at + maxSegment);
    out.push(sequence, segment.length, ...words(segment));
  }
  return Uint8Array.from(out);
}

function asPathOf(value: Uint8Array): number[] {
  const asns: number[] = [];
  for (let at = 0; at + 2 <= value.length;) {
    const end = at + 2 + (value[at + 1] ?? 0) * 4;
    asns.push(...wordsOf(value.subarray(at + 2, end)));
    at = end;
  }
  return asns;
}

/** RFC 4760 §3: family, next hop, one reserved byte, the prefix. */
function mpReachValue(family: AddressFamily, nextHop: Uint8Array, nlri: Uint8Array): Uint8Array {
  const { afi, safi } = familyNumber(family);
  return joined([afi >> 8, afi & 0xff, safi, nextHop.length], nextHop, [0], nlri);
}

function mpReachNextHop(value: Uint8Array): string {
  const length = value[3] ?? 0;
  // A second, link-local address may follow the global one (RFC 2545 §3).
  return addressText(value.subarray(4, 4 + Math.min(length, 16)));
}

function joined(...parts: readonly ArrayLike<number>[]): Uint8Array {
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
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

function wordsOf(value: Uint8Array): number[] {
  const view = new DataView(value.buffer, value.byteOffset, value.byteLength);
  return Array.from({ length: Math.floor(value.length / 4) }, (_, at) => view.getUint32(at * 4));
}

function sorted(values: readonly number[]): number[] {
  return values.toSorted((left, right) => left - right);
}

function compareWords(left: readonly number[], right: readonly number[]): number {
  const at = left.findIndex((value, index) => value !== right[index]);
  return at < 0 ? 0 : (left[at] ?? 0) - (right[at] ?? 0);
}
