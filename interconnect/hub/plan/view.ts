/** The view that one member has of the others and of the networks. Pure. */
import type { HubUpdate, Member, Path, Port, Prefix, Route, TransitSwitch } from '../../model/messages.ts';
import {
  isPublic,
  logicalPortOf,
  type AttachmentRecord,
  type ForeignMember,
  type MemberRecord,
  type Network,
  type PortRecord,
  type Presence,
} from '../model/record.ts';
import { addressFor } from './rows.ts';

/** Whether some may see another member than others do. */
export function isSameForAll(record: MemberRecord): boolean {
  if (Object.keys(record.encryption?.clusters ?? {}).length > 0) return false;
  return record.attachments.every(({ prefixes }) => prefixes.every(isPublic));
}

/** A member of this hub in the view of `receiver`, which takes part in `networks`. */
export function memberOf(
  record: MemberRecord,
  presence: Presence,
  receiver: string,
  networks: ReadonlySet<string>,
): Member {
  const attachments = record.attachments.filter(({ network }) => networks.has(network));
  return {
    name: record.name,
    foreign: false,
    connected: presence.connected,
    lastSeenMs: presence.connected ? 0 : presence.lastSeenMs,
    lacksPods: presence.lacksPods ?? false,
    gateways: record.gateways,
    encryption: record.encryption?.clusters[receiver] ?? record.encryption?.mode ?? '',
    ports: attachments.flatMap(({ ports }) => ports.map((port) => portOf(record.handle, port))),
    routes: attachments.flatMap((attachment) =>
      attachment.prefixes.flatMap((prefix) =>
        maySee(prefix, receiver) ? routeOf(record.name, prefix, attachment) : [],
      ),
    ),
  };
}

/** A foreign zone as a member that takes part in `networks` sees it. */
export function foreignOf(
  zone: ForeignMember,
  networks: ReadonlySet<string>,
  networkOf: (pathSwitch: string) => string | undefined,
): Member {
  const ports = zone.ports.filter((port) => networks.has(networkOf(port.switch) ?? ''));
  const routes = zone.routes.filter((route) => networks.has(route.transitSwitch));
  return { ...zone, ports, routes };
}

function maySee({ only, except }: Prefix, receiver: string): boolean {
  return (only.length === 0 || only.includes(receiver)) && !except.includes(receiver);
}

function routeOf(cluster: string, prefix: Prefix, { network, ports }: AttachmentRecord): readonly Route[] {
  const nextHops = ports.flatMap(({ switch: pathSwitch, networks }) => {
    const address = addressFor(prefix.cidr, networks);
    return address === undefined ? [] : [{ switch: pathSwitch, address }];
  });
  if (nextHops.length === 0) return [];
  const { cidr, origin, tags, via } = prefix;
  return [{ transitSwitch: network, prefix: cidr, origin, tags, via: [...via, cluster], nextHops }];
}

function portOf(handle: string, port: PortRecord): Port {
  const { switch: pathSwitch, mac, networks, tunnelKey, gateways, holder, draining } = port;
  const logicalPort = logicalPortOf(pathSwitch, handle);
  return { switch: pathSwitch, logicalPort, mac, networks, tunnelKey, gateways, holder, draining };
}

/** Addresses within encrypted tunnels of a member's gateways, by chassis. */
export function tunnelAddressesOf(record: MemberRecord | undefined): Readonly<Record<string, string>> {
  const entries = (record?.gateways ?? []).flatMap(({ chassis, wireGuard }) =>
    wireGuard == null ? [] : [[chassis, wireGuard.address] as const],
  );
  return Object.fromEntries(entries);
}

/** The networks that a member takes part in or may; none before it has a record: the hub has nothing to give it yet. */
export function switchesFor(
  cluster: string,
  record: MemberRecord | undefined,
  networks: Iterable<Network>,
): readonly TransitSwitch[] {
  if (record === undefined) return [];
  const found: TransitSwitch[] = [];
  for (const network of networks) {
    const attachment = record.attachments.find((one) => one.network === network.name);
    const { name, cidrs, definedBy, clusters } = network;
    const mayJoin = clusters.length === 0 || clusters.includes(cluster) || definedBy === cluster;
    if (attachment === undefined && !mayJoin) continue;
    const paths = network.switches.map(({ index, switch: pathSwitch, cidrs: pathCidrs, tunnelKey, retiring }): Path => {
      const port = attachment?.ports.find((one) => one.switch === pathSwitch);
      const shown = port === undefined ? null : portOf(record.handle, port);
      return { index, switch: pathSwitch, cidrs: pathCidrs, tunnelKey, retiring, port: shown };
    });
    found.push({ name, cidrs, definedBy, clusters, paths });
  }
  return found.sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** Whether a member that was sent `before` needs `after`. */
export function isNews(before: Omit<HubUpdate, 'full'> | undefined, after: Omit<HubUpdate, 'full'>): boolean {
  if (before === undefined || after.members.length + after.removed.length > 0) return true;
  if (before.revision !== after.revision) return true;
  const textOf = (update: typeof after): string => {
    const { transitSwitches, rejections, expected, silentDatabases, unreachedBy } = update;
    const { tunnelCidr, tunnelAddresses, keyAcceptances } = update;
    return JSON.stringify([
      transitSwitches,
      rejections,
      expected,
      silentDatabases,
      unreachedBy,
      tunnelCidr,
      tunnelAddresses,
      keyAcceptances,
    ]);
  };
  return textOf(before) !== textOf(after);
}
