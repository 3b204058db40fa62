/** Named frames from one pod to another of its subnet: those of hostile pods, and those that every pod must be able to send. */
import * as frames from './frames.ts';
import { allNodes, extension } from './frames.ts';

export type Frames = Readonly<Record<string, Buffer | readonly Buffer[]>>;

export const mac = '02:00:00:00:00:21';
export const [ip, victimIp] = ['10.16.0.21', '10.16.0.22'];
export const [victimMac, routerMac] = ['02:00:00:00:00:22', '02:00:00:00:01:02'];
export const everybody = { toMac: 'ff:ff:ff:ff:ff:ff', to: '255.255.255.255' };
const own = frames.linkLocal(mac);
export const toAll = { mac, ip: own, ...allNodes };
export const toVictim = { mac, ip: own, toMac: victimMac, to: frames.linkLocal(victimMac) };
/** Forges the router's addresses: the ports of this test have no port security. */
const asRouter = { ...toVictim, ip: frames.linkLocal(routerMac), mac: routerMac };
export const toVictim4 = { mac, ip, toMac: victimMac, to: victimIp };
const nothing = Buffer.alloc(0);
/** Open vSwitch accepts no smaller first fragments. */
const largest = 1272;

function long(payload: Buffer): Buffer {
  return Buffer.concat([payload, Buffer.alloc(1500 - payload.length)]);
}

/** Frames of a pod that tries to enter another VLAN. */
export function inTags(): Frames {
  const plain = frames.ethernet(victimMac, mac, 0x88b5, Buffer.alloc(46, 1));
  return {
    'priority tag': frames.tagged(plain, [0x8100, 0]),
    '802.1Q': frames.tagged(plain, [0x8100, 10]),
    '802.1ad': frames.tagged(plain, [0x88a8, 10], [0x8100, 20]),
    'RA in a priority tag': frames.tagged(frames.routerAdvertisement(toAll), [0x8100, 0]),
    'RA in two tags': frames.tagged(frames.routerAdvertisement(toAll), [0x88a8, 0], [0x8100, 0]),
  };
}

/** Frames of a pod that poses as a bridge. */
export function ofBridges(): Frames {
  const payload = Buffer.alloc(46, 1);
  const reserved = ['01:80:c2:00:00:00', '01:80:c2:00:00:02', '01:80:c2:00:00:0e', '01:80:c2:00:00:21'];
  return {
    ...Object.fromEntries(reserved.map((to) => [to, frames.ethernet(to, mac, 0x0026, payload)])),
    'LLDP to all': frames.ethernet(everybody.toMac, mac, 0x88cc, payload),
    'LLDP to one': frames.ethernet(victimMac, mac, 0x88cc, payload),
    CDP: frames.ethernet('01:00:0c:cc:cc:cc', mac, 0x0026, payload),
  };
}

/** Frames of a pod that poses as router or DHCP server. */
export function ofRouters(): Frames {
  const { hopByHop, routing, destinationOptions, fragment } = extension;
  const options = [hopByHop, routing, destinationOptions];
  const message = frames.icmp6Message(toAll, 134, 0, frames.advertisement(toAll));
  const behindOptions = Buffer.concat([frames.extensionHeader(destinationOptions, 58), message]);
  const offer = frames.dhcp(2, 2, victimMac);
  const answer = Buffer.from('0200123400010004', 'hex');
  const redirect = Buffer.concat([Buffer.from('0a100015', 'hex'), Buffer.alloc(28, 0x45)]);
  const query = Buffer.alloc(20);
  const targets = Buffer.concat([Buffer.alloc(4), Buffer.alloc(32, 0xfe)]);
  const global = { ...toVictim, ip: 'fd00::21', to: 'fd00::22' };
  const largeAnswer = frames.udp6Message(global, 547, 546, long(answer));
  const globalToAll = { ...toAll, ip: 'fd00::21' };
  return {
    'RA to all': frames.routerAdvertisement(toAll),
    'RA to one': frames.routerAdvertisement(toVictim),
    'RA of the router': frames.routerAdvertisement(asRouter),
    'RA of another code': frames.ipv6(toAll, 58, frames.icmp6Message(toAll, 134, 1, frames.advertisement(toAll))),
    ...Object.fromEntries(options.map((one) => [`RA behind ${one}`, frames.routerAdvertisement(toAll, [one])])),
    'RA behind many': frames.routerAdvertisement(toAll, [hopByHop, destinationOptions, routing, destinationOptions]),
    'RA in an atomic fragment': frames.routerAdvertisement(toAll, [fragment]),
    'RA in fragments': frames.ipv6Fragments(toAll, 58, message, 16),
    'RA behind options in the second fragment': frames.ipv6Fragments(toAll, destinationOptions, behindOptions, 8),
    'redirect of IPv6': frames.icmp6Frame(toVictim, 137, targets),
    'redirect of IPv6, of the router': frames.icmp6Frame(asRouter, 137, targets),
    'redirect of IPv4': frames.icmp4(toVictim4, 5, redirect),
    'redirect of IPv4, of the router': frames.icmp4({ ...toVictim4, mac: routerMac, ip: '10.16.0.1' }, 5, redirect),
    'redirect of IPv4 in fragments': [
      frames.ipv4(toVictim4, 1, frames.icmp4Message(5, redirect).subarray(0, 8), 0x2000, 1),
      frames.ipv4(toVictim4, 1, frames.icmp4Message(5, redirect).subarray(8), 1, 1),
    ],
    'RA of RFC 1256': frames.icmp4({ ...toVictim4, ...everybody }, 9, Buffer.from('01020708', 'hex')),
    'DHCPv4 to all': frames.udp4({ ...toVictim4, ...everybody }, 67, 68, offer),
    'DHCPv4 to one': frames.udp4(toVictim4, 67, 68, offer),
    'DHCPv4 of another port': frames.udp4({ ...toVictim4, ...everybody }, 1067, 68, offer),
    'DHCPv4 in fragments': frames.udp4Fragments({ ...toVictim4, ...everybody }, [67, 68], offer, 8),
    'DHCPv4 to one in fragments': frames.udp4Fragments(toVictim4, [67, 68], offer, 8),
    'DHCPv4 to one in large fragments': frames.udp4Fragments(toVictim4, [67, 68], long(offer), largest),
    'DHCPv6 to one': frames.udp6(toVictim, 547, 546, answer),
    'DHCPv6 of another port': frames.udp6(toVictim, 1547, 546, answer),
    'DHCPv6 of a global address': frames.udp6(global, 547, 546, answer),
    'DHCPv6 in fragments': frames.ipv6Fragments(
      toVictim,
      17,
      frames.udp6Message(toVictim, 547, 546, long(answer)),
      largest,
    ),
    'DHCPv6 of global addresses in fragments': frames.ipv6Fragments(
      global,
      17,
      frames.udp6Message(global, 547, 546, answer),
      8,
    ),
    'DHCPv6 of global addresses in large fragments': frames.ipv6Fragments(global, 17, largeAnswer, largest),
    'DHCPv6 behind options in fragments': frames.ipv6Fragments(
      global,
      destinationOptions,
      Buffer.concat([frames.extensionHeader(destinationOptions, 17), largeAnswer]),
      largest,
    ),
    'DHCPv6 behind options in the second fragment': frames.ipv6Fragments(
      global,
      destinationOptions,
      Buffer.concat([frames.extensionHeader(destinationOptions, 17), frames.udp6Message(global, 547, 546, answer)]),
      8,
    ),
    'DHCPv6 to all in fragments': frames.ipv6Fragments(
      globalToAll,
      17,
      frames.udp6Message(globalToAll, 547, 546, answer),
      8,
    ),
    ...Object.fromEntries(
      ['224.0.0.1', '224.0.0.4', '224.0.0.106'].map((to) => [
        `IGMP to ${to}`,
        frames.igmp({ ...toVictim4, ...frames.toGroup(to) }, 0x11, '0.0.0.0'),
      ]),
    ),
    'IGMP query to one': frames.igmp(toVictim4, 0x11, '0.0.0.0'),
    'IGMP query to one in a frame to all': frames.igmp({ ...toVictim4, toMac: everybody.toMac }, 0x11, '0.0.0.0'),
    'IGMP query to everybody': frames.igmp({ ...toVictim4, ...everybody }, 0x11, '0.0.0.0'),
    'PIM of IPv4': frames.ipv4({ ...toVictim4, ...frames.toGroup('224.0.0.13') }, 103, Buffer.from('2000dfff', 'hex')),
    'PIM of IPv6': frames.ipv6({ ...toAll, to: 'ff02::d' }, 103, Buffer.from('2000dfff', 'hex')),
    'MLD query': frames.icmp6Frame(toAll, 130, query, [hopByHop]),
    'MLD query without options': frames.icmp6Frame(toAll, 130, query),
    'MLD query to one': frames.icmp6Frame(toVictim, 130, query, [hopByHop]),
    'multicast router advertisement': frames.icmp6Frame({ ...toAll, to: 'ff02::6a' }, 151, Buffer.alloc(4), [hopByHop]),
    'ARP of the router': frames.gratuitousArp(mac, '10.16.0.1'),
    'an answer of the router': frames.icmp4({ ...toVictim4, ip: '10.16.0.1' }, 0, Buffer.alloc(8)),
  };
}

/** Frames that every pod may send. */
export function ofPods(): Frames {
  const global = { ...toVictim, ip: 'fd00::21', to: 'fd00::22' };
  const neighbour = Buffer.from(`00000000fe8000000000000000000000fe000022`, 'hex');
  return {
    'neighbour solicitation': frames.icmp6Frame(toVictim, 135, neighbour),
    'neighbour advertisement': frames.icmp6Frame(toVictim, 136, neighbour),
    'router solicitation': frames.icmp6Frame(toAll, 133, Buffer.alloc(4)),
    'MLD report': frames.icmp6Frame(toAll, 143, Buffer.alloc(4), [extension.hopByHop]),
    'MLDv1 report': frames.icmp6Frame(toAll, 131, Buffer.alloc(20), [extension.hopByHop]),
    'MLDv1 done': frames.icmp6Frame(toAll, 132, Buffer.alloc(20), [extension.hopByHop]),
    'IGMP report': frames.igmp({ ...toVictim4, ...frames.toGroup('224.0.0.22') }, 0x22, '0.0.0.1'),
    'IGMPv2 report': frames.igmp({ ...toVictim4, ...frames.toGroup('239.1.2.3') }, 0x16, '239.1.2.3'),
    'IGMPv2 leave': frames.igmp({ ...toVictim4, ...frames.toGroup('224.0.0.2') }, 0x17, '239.1.2.3'),
    'packet to a group': frames.udp4({ ...toVictim4, ...frames.toGroup('239.1.2.3') }, 5000, 5000, nothing),
    VRRP: frames.ipv4({ ...toVictim4, ...frames.toGroup('224.0.0.18') }, 112, Buffer.alloc(8)),
    'ARP of its own': frames.gratuitousArp(mac, ip),
    'echo request': frames.icmp4(toVictim4, 8, Buffer.alloc(8)),
    'DHCPv4 client': frames.udp4({ ...toVictim4, ...everybody, ip: '0.0.0.0' }, 68, 67, frames.dhcp(1, 1, mac)),
    'DHCPv6 client': frames.udp6(toAll, 546, 547, Buffer.from('0100123400010004', 'hex')),
    UDP: frames.udp4(toVictim4, 67, 69, Buffer.alloc(8)),
    'UDP from the port of a DHCP server in fragments': frames.udp4Fragments(
      toVictim4,
      [67, 69],
      long(nothing),
      largest,
    ),
    'UDP in fragments': frames.udp4Fragments(toVictim4, [5000, 5000], long(nothing), largest),
    'UDP of IPv6 in fragments': frames.ipv6Fragments(
      global,
      17,
      frames.udp6Message(global, 1, 2, long(nothing)),
      largest,
    ),
  };
}

/** The MAC address of the router and DHCP server of a physical network. */
export const theirMac = '02:00:00:00:00:fe';

export function ofTheirRouter(): Frames {
  const theirOwn = { mac: theirMac, ip: frames.linkLocal(theirMac) };
  const to = { ...theirOwn, toMac: victimMac, to: frames.linkLocal(victimMac) };
  const to4 = { mac: theirMac, ip: '10.16.0.1', toMac: victimMac, to: victimIp };
  const offer = frames.dhcp(2, 2, victimMac);
  return {
    'RA to all': frames.routerAdvertisement({ ...theirOwn, ...allNodes }),
    'RA to one': frames.routerAdvertisement(to),
    'DHCPv4 to all': frames.udp4({ ...to4, ...everybody }, 67, 68, offer),
    'DHCPv4 to one': frames.udp4(to4, 67, 68, offer),
    'DHCPv6 to one': frames.udp6(to, 547, 546, Buffer.from('0200123400010004', 'hex')),
    'MLD query': frames.icmp6Frame({ ...theirOwn, ...allNodes }, 130, Buffer.alloc(20), [extension.hopByHop]),
    'IGMP query': frames.igmp({ ...to4, ...frames.toGroup('224.0.0.1') }, 0x11, '0.0.0.0'),
    'ARP of the gateway': frames.gratuitousArp(theirMac, '10.16.0.1'),
  };
}
