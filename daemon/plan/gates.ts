/**
 * VPCs with DNS, and the gates that the node has → its gates, each with its links, rules and rows. Pure. The rules are the border of the VPC: they forward
 * connections from the VPC to the given addresses and ports, their answers, and nothing else, whatever a pod sends.
 */
import { gatePort } from '../../lib/api/names.ts';
import type { Desired } from '../../lib/desired/row.ts';
import { parseCidr } from '../../lib/net/cidr.ts';
import { formatIp, type Family } from '../../lib/net/ip.ts';
import { deriveMac } from '../../lib/net/mac.ts';
import { gateMac, gateNetwork, type GateTarget } from '../../lib/services/gate.ts';
import {
  gateFile,
  gateInterface,
  gateLinkNames,
  linkNetwork,
  mostGates,
  type Gate,
  type GatePlan,
  type GateSettings,
} from '../model/gate.ts';
import { portRows } from './port-rows.ts';

const families = [4, 6] as const;
const header = { 4: 'ip', 6: 'ip6' } as const;
const bits = { 4: 32, 6: 128 } as const;
/** First octet of the MAC addresses of links to the node. */
const linkMacSpace = 0x0a;
/** Connections of one VPC at a time, because all VPCs share the node's table of connections and its ports. */
const mostConnections = 16_384;
/** Neighbour discovery; ARP is not filtered. */
const neighbours = 'icmpv6 type { nd-neighbor-solicit, nd-neighbor-advert } accept';

/** A gate that exists keeps its slot; a new one gets the lowest that is free. VPCs beyond the last slot have none. */
export function assignSlots(vpcs: Iterable<string>, existing: readonly Gate[]): readonly Gate[] {
  const wanted = [...new Set(vpcs)].sort();
  const known = new Map<string, Gate>();
  const taken = new Set<number>();
  for (const gate of existing.toSorted((a, b) => a.slot - b.slot)) {
    // Also those of gates that are to go: their links are there until then.
    taken.add(gate.slot);
    if (!known.has(gate.vpc)) known.set(gate.vpc, gate);
  }
  let next = 0;
  return wanted.flatMap((vpc) => {
    const gate = known.get(vpc);
    if (gate !== undefined) return gate;
    while (taken.has(next)) next += 1;
    if (next >= mostGates) return [];
    taken.add(next);
    return { vpc, slot: next };
  });
}

/** The end of the node, and that of the namespace. */
function linkAddresses(family: Family, slot: number): readonly [node: string, gate: string] {
  const first = (parseCidr(linkNetwork[family].cidr)?.network ?? 0n) + 2n * BigInt(slot);
  return [formatIp({ family, value: first }), formatIp({ family, value: first + 1n })];
}

function planRules(targets: readonly GateTarget[]): string {
  const { vpc, node } = gateInterface;
  const translations = targets.map(({ family, address, protocol, port }) => {
    const to = family === 4 ? `${address}:${port}` : `[${address}]:${port}`;
    const ip = header[family];
    return `  iifname "${vpc}" ${ip} daddr ${gateNetwork[family].gate} ${protocol} dport ${port} dnat ${ip} to ${to}`;
  });
  return [
    'chain prerouting {',
    '  type nat hook prerouting priority dstnat; policy accept;',
    ...translations,
    '}',
    'chain postrouting {',
    '  type nat hook postrouting priority srcnat; policy accept;',
    `  oifname "${node}" masquerade fully-random`,
    '}',
    'chain forward {',
    '  type filter hook forward priority filter; policy drop;',
    `  iifname "${node}" oifname "${vpc}" ct direction reply ct state established,related accept`,
    `  iifname "${vpc}" oifname "${node}" ct state new ct count over ${mostConnections} drop`,
    `  iifname "${vpc}" oifname "${node}" ct direction original ct status dnat accept`,
    '}',
    ...['input', 'output'].flatMap((at) => [
      `chain ${at} {`,
      `  type filter hook ${at} priority filter; policy drop;`,
      `  ${neighbours}`,
      '}',
    ]),
    '',
  ].join('\n');
}

export function planGate(gate: Gate, settings: GateSettings): GatePlan {
  const { mtu, isUserspaceDatapath, hasIpv6 } = settings;
  const present = families.filter((family) => family === 4 || hasIpv6);
  const targets = settings.targets.filter(({ family }) => present.includes(family));
  const names = gateLinkNames(gate);
  const toServices = present.flatMap((family) => {
    const addresses = new Set(targets.filter((one) => one.family === family).map(({ address }) => address));
    const [gateway] = linkAddresses(family, gate.slot);
    return [...addresses].map((address) => ({
      destination: `${address}/${bits[family]}`,
      gateway,
      isReplacing: false,
    }));
  });
  const common = { mtu, acceptsRouterAdvertisements: false };
  return {
    gate,
    vpcLink: {
      ...common,
      hostName: names.vpc,
      name: gateInterface.vpc,
      mac: gateMac,
      addresses: present.map((family) => `${gateNetwork[family].gate}/${gateNetwork[family].prefix}`),
      routes: present.map((family) => ({
        destination: family === 4 ? '0.0.0.0/0' : '::/0',
        gateway: gateNetwork[family].router,
        isReplacing: false,
      })),
      isChecksumFinished: isUserspaceDatapath,
    },
    nodeLink: {
      ...common,
      hostName: names.node,
      name: gateInterface.node,
      mac: deriveMac(linkMacSpace, names.node),
      addresses: present.map((family) => `${linkAddresses(family, gate.slot)[1]}/${linkNetwork[family].prefix}`),
      routes: toServices,
      isChecksumFinished: false,
    },
    nodeAddresses: present.map((family) => `${linkAddresses(family, gate.slot)[0]}/${linkNetwork[family].prefix}`),
    ruleset: planRules(targets),
  };
}

/** The slot is a part, because the former gate of a VPC may still be there. */
export function gateOwner(gate: Gate): string {
  return `gate/${gateFile(gate)}`;
}

/** The rows of the gate's port on the integration bridge. */
export function planGateRows(gate: Gate): Desired {
  return { rows: portRows(gateLinkNames(gate).vpc, {}, { 'iface-id': gatePort(gate.vpc) }) };
}
