/** Links as the kernel reports them. Pure. */
import * as wire from './message.ts';

export interface Link {
  readonly index: number;
  readonly name: string;
  readonly mac: string;
  readonly mtu: number;
  /** The link is administratively up; this does not tell whether its other end is connected. */
  readonly isUp: boolean;
  /** It is up and works, as far as the kernel knows. */
  readonly isRunning: boolean;
  /** `veth`, `vlan`, …; undefined for hardware. */
  readonly kind: string | undefined;
  /** Index of the other end of a veth, in that one's namespace; of the link below, for those that lie on one. */
  readonly peer: number | undefined;
}

const IFLA = { ADDRESS: 1, IFNAME: 3, MTU: 4, LINK: 5, LINKINFO: 18 } as const;
const INFO_KIND = 1;
const IFF = { UP: 1, RUNNING: 0x40 } as const;

/** The body of a request about the link of this name. */
export function linkNamed(name: string): readonly Buffer[] {
  return [wire.linkHeader(0), wire.attribute(IFLA.IFNAME, wire.text(name))];
}

/** The body of RTM_NEWLINK or RTM_DELLINK. */
export function readLink(data: Buffer): Link {
  const attributes = wire.readAttributes(data.subarray(16));
  const [mac, mtu] = [attributes.get(IFLA.ADDRESS), attributes.get(IFLA.MTU)];
  const [peer, info] = [attributes.get(IFLA.LINK), attributes.get(IFLA.LINKINFO)];
  const kind = info === undefined ? undefined : wire.readAttributes(info).get(INFO_KIND);
  const flags = wire.readU32(data, 8);
  return {
    index: wire.readU32(data, 4),
    name: wire.readText(attributes.get(IFLA.IFNAME) ?? Buffer.alloc(0)),
    mac: mac === undefined ? '' : wire.macText(mac),
    mtu: mtu === undefined ? 0 : wire.readU32(mtu),
    isUp: (flags & IFF.UP) !== 0,
    isRunning: (flags & IFF.RUNNING) !== 0,
    kind: kind === undefined ? undefined : wire.readText(kind),
    peer: peer === undefined ? undefined : wire.readU32(peer),
  };
}
