/** Which gateways of another cluster are accepted, and which removed gateways keep their chassis for now. Pure. */
import type { Problem } from '../../lib/desired/problem.ts';
import type { LocalView } from '../model/local.ts';
import type { Gateway, Member } from '../model/messages.ts';
import { encapKey } from '../model/owners.ts';
import type { AcceptedGateways } from './accepted-gateways.ts';
import { encryptGateways, noEncryption, type EncryptionFacts } from './encryption.ts';

/** Refuses gateways that have the name or the tunnel address of a chassis of this cluster, and those that lack a key where one is required. */
export function acceptGateways(
  member: Member,
  local: LocalView,
  encryption: EncryptionFacts = noEncryption,
): AcceptedGateways {
  const refused = new Map<string, Problem>();
  const gateways = member.gateways.filter(({ chassis, encaps }) => {
    const clash = local.chassis
      .values()
      .find(({ gateway }) =>
        gateway.encaps.some((own) => encaps.some(({ type, ip }) => own.type === type && own.ip === ip)),
      );
    if (local.chassis.has(chassis)) {
      const message = `gateway ${chassis} of ${member.name} has the name of a chassis of this cluster; set another system-id on one of the two`;
      refused.set(chassis, { code: 'DuplicateChassis', message });
    } else if (clash !== undefined) {
      const message = `gateway ${chassis} of ${member.name} has the tunnel address of ${clash.gateway.chassis} of this cluster; set another one on one of the two`;
      refused.set(chassis, { code: 'DuplicateEncap', message });
    } else return encaps.length > 0;
    return false;
  });
  return encryptGateways({ gateways, refused, mode: 'off', encrypted: new Set() }, member, encryption);
}

export interface DepartureContext {
  readonly members: ReadonlyMap<string, Member>;
  readonly local: LocalView;
  /** Whether northd has a chassis in some group. */
  readonly isGrouped: (chassis: string) => boolean;
}

/**
 * Gateways that were written before, belong to no cluster now, and are still in groups of the southbound database. The
 * row of such a chassis must stay until northd has updated its groups: ovn-controller takes a group that lacks a
 * chassis for no group, and drops what it forwards until then.
 */
export function departingGateways(
  written: readonly Gateway[],
  kept: readonly Gateway[],
  { members, local, isGrouped }: DepartureContext,
): readonly Gateway[] {
  const gone = written.filter(
    ({ chassis }) => !kept.some((gateway) => gateway.chassis === chassis) && isGrouped(chassis),
  );
  if (gone.length === 0) return [];
  const others = [...members.values()].flatMap(({ gateways }) => gateways);
  const all = [...others, ...local.chassis.values().map(({ gateway }) => gateway)];
  const names = new Set(all.map(({ chassis }) => chassis));
  const taken = new Set(all.flatMap(({ encaps }) => encaps.map(({ type, ip }) => encapKey(type, ip))));
  return gone.filter(
    ({ chassis, encaps }) => !names.has(chassis) && !encaps.some(({ type, ip }) => taken.has(encapKey(type, ip))),
  );
}
