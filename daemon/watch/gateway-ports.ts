/**
 * The ports of routers that one of several nodes holds, and the addresses they answer for, as the southbound database says. OVN names these
 * addresses in `nat_addresses` of the port on the side of the switch, where the port has the option `nat-addresses`.
 */
import type { Cache, OvsdbClient, Row } from 'ovsdb-client';
import { parseIp } from '../../lib/net/ip.ts';
import { parseMac } from '../../lib/net/mac.ts';
import { integerOf, textOf, textsOf } from '../../lib/ovn/columns.ts';
import type { GatewayPort, OwnedAddress } from '../model/gateway-port.ts';
import { SouthboundMirror, type SouthboundAccess } from './southbound.ts';

const monitor = {
  Chassis: ['name'],
  Port_Binding: ['logical_port', 'type', 'chassis', 'datapath', 'mac', 'nat_addresses', 'tag'],
};
/** A large cluster has a port for each pod, which are not among them. */
const where = {
  Port_Binding: [
    ['type', '==', 'chassisredirect'],
    ['type', '==', 'localnet'],
    ['nat_addresses', '!=', []],
  ],
} as const;

/** What the port on the side of the switch says about a port that one node holds. */
interface Announced {
  readonly port: string;
  readonly mac: string;
  readonly addresses: readonly string[];
}

/** MAC address and addresses that are valid where a port is. Addresses of pods, which are valid where the pod is, name another port. */
const entry = /^(\S+) (.+) is_chassis_resident\("(cr-[^"]+)"\)$/;

/** A port may be in several entries. */
function readEntries(texts: readonly string[]): readonly Announced[] {
  const ports = new Map<string, Announced>();
  for (const text of texts) {
    const [, given = '', addresses = '', port = ''] = entry.exec(text) ?? [];
    const mac = parseMac(given);
    if (mac === undefined) continue;
    const before = ports.get(port)?.addresses ?? [];
    ports.set(port, { port, mac, addresses: [...before, ...addresses.split(' ')] });
  }
  return [...ports.values()];
}

export class GatewayPorts {
  readonly #mirror: SouthboundMirror;
  readonly #announced = new WeakMap<Row, readonly Announced[]>();

  /** @param onChange is called after each change of the ports, and of the connection */
  constructor(access: SouthboundAccess, onChange: () => void) {
    this.#mirror = new SouthboundMirror(access, {
      what: 'ports of routers that nodes hold',
      monitor,
      where,
      onOpen(client: OvsdbClient) {
        client.subscribe(onChange);
        client.onState(onChange);
        onChange();
      },
    });
  }

  /** Undefined while the database does not answer: what it said before may be no longer so. */
  ports(chassis: string | undefined): readonly GatewayPort[] | undefined {
    const { client } = this.#mirror;
    return client?.state === 'synced' ? this.#read(client.cache, chassis) : undefined;
  }

  close(): Promise<void> {
    return this.#mirror.close();
  }

  #read(cache: Cache, chassis: string | undefined): readonly GatewayPort[] {
    const own = [...cache.table('Chassis').rows.values()].find((row) => row['name'] === chassis);
    const holders = new Map<string, Row>();
    const localnets = new Map<string, Row>();
    const rows = [...cache.table('Port_Binding').rows.values()];
    for (const row of rows) {
      if (row['type'] === 'chassisredirect') holders.set(textOf(row, 'logical_port'), row);
      else if (row['type'] === 'localnet') localnets.set(textOf(row, 'datapath'), row);
    }
    return rows.flatMap((row) => {
      const localnet = localnets.get(textOf(row, 'datapath'));
      return this.#announcedBy(row).flatMap(({ port, mac, addresses }): readonly GatewayPort[] => {
        const holder = holders.get(port);
        if (holder === undefined) return [];
        const isHere = own !== undefined && holder['chassis'] === own._uuid;
        return [
          {
            name: port,
            isHere,
            mac,
            addresses: isHere ? ownedBy(holder, addresses) : [],
            localnet: localnet && textOf(localnet, 'logical_port'),
            vlan: (localnet && integerOf(localnet, 'tag')) || undefined,
          },
        ];
      });
    });
  }

  #announcedBy(row: Row): readonly Announced[] {
    const known = this.#announced.get(row);
    if (known !== undefined) return known;
    const announced = readEntries(textsOf(row, 'nat_addresses'));
    this.#announced.set(row, announced);
    return announced;
  }
}

/** OVN does not name the IPv6 addresses of the router among those it announces. */
function ownedBy(holder: Row, announced: readonly string[]): readonly OwnedAddress[] {
  const [, ...networks] = textsOf(holder, 'mac').flatMap((text) => text.split(' '));
  const own = networks.map((network) => network.split('/')[0] ?? '').filter((one) => parseIp(one) !== undefined);
  const others = announced.filter((one) => parseIp(one) !== undefined && !own.includes(one));
  return [
    ...own.map((address) => ({ address, isRouter: true })),
    ...[...new Set(others)].map((address) => ({ address, isRouter: false })),
  ];
}
