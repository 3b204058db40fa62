/** The exclusive things that a member or a foreign zone holds. Pure. */
import { learnedOrigin } from '../../../lib/route-policy/policy.ts';
import { encapKey } from '../model/owners.ts';
import type { Gateway, WireGuard } from '../../model/messages.ts';
import type { Held } from '../model/holdings.ts';
import { logicalPortOf, type AllocatedPort, type ForeignMember, type MemberRecord } from '../model/record.ts';

/** `reserved`: ports it had and may come back for. */
export function heldByMember(record: MemberRecord, reserved: readonly AllocatedPort[] = []): Held {
  const { handle, gateways, attachments } = record;
  const ports = [...attachments.flatMap((attachment) => attachment.ports), ...reserved];
  return {
    ...gatewaysHeld(gateways),
    ports: ports.map((port) => ({ ...port, logicalPort: logicalPortOf(port.switch, handle) })),
    prefixes: attachments.flatMap(({ network, prefixes }) =>
      prefixes.map(({ cidr, origin }) => ({ network, cidr, isLearned: origin === learnedOrigin })),
    ),
  };
}

export function heldByForeign({ gateways, ports, routes }: ForeignMember): Held {
  return {
    ...gatewaysHeld(gateways),
    ports,
    prefixes: routes.map(({ transitSwitch, prefix }) => ({ network: transitSwitch, cidr: prefix, isLearned: false })),
  };
}

function gatewaysHeld(gateways: readonly Gateway[]): Omit<Held, 'ports' | 'prefixes'> {
  return {
    chassis: gateways.map(({ chassis }) => chassis),
    encaps: gateways.flatMap(({ encaps }) => encaps.map(({ type, ip }) => encapKey(type, ip))),
    publicKeys: gateways.flatMap(({ wireGuard }) => keysOf(wireGuard ?? undefined)),
    tunnelAddresses: gateways.flatMap(({ wireGuard }) => wireGuard?.address ?? []),
  };
}

function keysOf(wireGuard: WireGuard | undefined): readonly string[] {
  if (wireGuard === undefined) return [];
  const { publicKey, nextKey = '' } = wireGuard;
  return nextKey === '' ? [publicKey] : [publicKey, nextKey];
}
