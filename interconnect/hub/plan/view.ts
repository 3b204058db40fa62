/** What one member is told. Pure: the whole view first, then what changed since the last. */
import type { HubUpdate, Member, Port, Rejection, TransitSwitch } from '../../link/messages.ts';
import { logicalPortOf, type MemberRecord, type TransitNetwork } from '../state/record.ts';
import { nexthopFor } from './rows.ts';

export interface Presence {
  readonly connected: boolean;
  readonly lastSeenMs: number;
}

/** A member of ours as the others see it. */
export function memberOf(record: MemberRecord, presence: Presence, network: TransitNetwork): Member {
  const routes = record.prefixes.flatMap((prefix) => {
    const nexthop = nexthopFor(prefix, record.port.networks);
    return nexthop === undefined ? [] : [{ transitSwitch: network.name, prefix, nexthop, origin: 'connected' }];
  });
  return {
    name: record.name,
    foreign: false,
    connected: presence.connected,
    lastSeenMs: presence.connected ? 0 : presence.lastSeenMs,
    gateways: record.gateways,
    ports: [portOf(record, network)],
    routes,
  };
}

function portOf(record: MemberRecord, network: TransitNetwork): Port {
  const { mac, networks, tunnelKey } = record.port;
  const logicalPort = logicalPortOf(network.name, record.name);
  return { transitSwitch: network.name, logicalPort, mac, networks, tunnelKey, gateway: record.activeGateway };
}

/** Everything a member may know at one moment. */
export interface View {
  readonly revision: number;
  readonly switches: readonly TransitSwitch[];
  readonly rejections: readonly Rejection[];
  /** All members; the receiver's own entry is not sent. */
  readonly members: ReadonlyMap<string, Member>;
}

export function switchesFor(record: MemberRecord | undefined, network: TransitNetwork): readonly TransitSwitch[] {
  return record === undefined ? [] : [{ ...network, port: portOf(record, network) }];
}

/** What `receiver` must be told to come from `before` to `after`; undefined: nothing. Members compare by identity. */
export function updateFor(receiver: string, before: View | undefined, after: View): HubUpdate | undefined {
  const members = [...after.members.values()].filter(
    (member) => member.name !== receiver && before?.members.get(member.name) !== member,
  );
  const removed = [...(before?.members.keys() ?? [])].filter((name) => name !== receiver && !after.members.has(name));
  const { revision, switches, rejections } = after;
  const isSame =
    before !== undefined &&
    members.length + removed.length === 0 &&
    before.revision === revision &&
    JSON.stringify([before.switches, before.rejections]) === JSON.stringify([switches, rejections]);
  return isSame ? undefined : { revision, full: before === undefined, switches, members, removed, rejections };
}
