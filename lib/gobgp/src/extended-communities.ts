import { assignedBytes, assignedOfBytes, assignedText, parseAssigned } from './assigned-numbers.ts';
import { GobgpInvalidArgument } from './errors.ts';

/** The extended communities (RFC 4360) that this package has words for. */
export interface ExtendedCommunities {
  /** Who imports it: `asn:number`, `address:number`; an AS of 4 bytes below 65536 is `0.asn`. */
  readonly routeTargets?: readonly string[];
  /** How packets get to the next hop (RFC 9012 §4.1). */
  readonly encapsulation?: Encapsulation;
  /** Where the packets inside go (RFC 9135 §8.1), in small letters with colons. */
  readonly routerMac?: string;
}

export type Encapsulation = 'vxlan';

/** The two bytes before an extended community's value. */
const kind = { routeTarget: 0x0002, encapsulation: 0x030c, routerMac: 0x0603 } as const;
const tunnelTypes: Readonly<Record<Encapsulation, number>> = { vxlan: 8 };
const size = 8;

/** The value of the attribute, ordered and each once; empty if there are none. @throws GobgpInvalidArgument */
export function extendedCommunityBytes(communities: ExtendedCommunities): Uint8Array {
  const { routeTargets = [], encapsulation, routerMac } = communities;
  const all = routeTargets.map(routeTargetBytes);
  if (encapsulation !== undefined)
    all.push(valueBytes(kind.encapsulation, [0, 0, 0, 0, 0, tunnelTypes[encapsulation]]));
  if (routerMac !== undefined) all.push(valueBytes(kind.routerMac, macBytes(routerMac)));
  const once = new Set(all.map((each) => Buffer.from(each).toString('hex')));
  return Buffer.from([...once].toSorted().join(''), 'hex');
}

/** Decodes the values of the attribute that this package knows. */
export function extendedCommunitiesOf(value: Uint8Array): ExtendedCommunities {
  const routeTargets: string[] = [];
  let found: ExtendedCommunities = {};
  for (let at = 0; at + size <= value.length; at += size) {
    const each = value.subarray(at, at + size);
    const type = ((each[0] ?? 0) << 8) | (each[1] ?? 0);
    const target = (type & 0xff) === kind.routeTarget ? assignedOfBytes(type >> 8, each) : undefined;
    if (target) routeTargets.push(assignedText(target));
    else if (type === kind.encapsulation)
      found = { ...found, ...encapsulationOf((each[6] ?? 0) * 256 + (each[7] ?? 0)) };
    else if (type === kind.routerMac) found = { ...found, routerMac: macText(each.subarray(2)) };
  }
  return { ...(routeTargets.length > 0 && { routeTargets }), ...found };
}

/** The encapsulation of a tunnel type as IANA numbers them. */
export function encapsulationOf(tunnelType: number): Pick<ExtendedCommunities, 'encapsulation'> {
  return tunnelType === tunnelTypes.vxlan ? { encapsulation: 'vxlan' } : {};
}

function routeTargetBytes(text: string): Uint8Array {
  const target = parseAssigned(text, 'route target');
  return assignedBytes(target, (target.form << 8) | kind.routeTarget);
}

function valueBytes(type: number, value: ArrayLike<number>): Uint8Array {
  return Uint8Array.of(type >> 8, type & 0xff, ...Array.from(value));
}

function macBytes(text: string): Uint8Array {
  const bytes = /^[\da-f]{2}(:[\da-f]{2}){5}$/i.test(text) ? Buffer.from(text.replaceAll(':', ''), 'hex') : undefined;
  // The lowest bit of the first byte marks a group.
  if (!bytes || (bytes[0] ?? 0) % 2 === 1 || bytes.every((each) => each === 0))
    throw new GobgpInvalidArgument(`'${text}' is not the MAC address of one router, as 02:00:00:00:00:01`);
  return bytes;
}

function macText(bytes: Uint8Array): string {
  return Array.from(bytes, (each) => each.toString(16).padStart(2, '0')).join(':');
}
