/** Which gateways of another cluster are taken, and which that are gone stay for now. Pure. */
import type { Problem } from '../../lib/desired/problem.ts';
import type { LocalView } from '../model/local.ts';
import type { Gateway, Member } from '../model/messages.ts';
import { encapKey } from '../model/owners.ts';

export interface AcceptedGateways {
  readonly gateways: readonly Gateway[];
  /** Chassis of the others → why this cluster cannot take them. */
  readonly refused: ReadonlyMap<string, Problem>;
}

/** None has the name or the tunnel address of a chassis of this cluster. */
export function acceptGateways(member: Member, local: LocalView): AcceptedGateways {
  const refused = new Map<string, Problem>();
  const gateways = member.gateways.filter(({ chassis, encaps }) => {
    const clash = local.chassis
      .values()
      .find(({ gateway }) =>
        gateway.encaps.some((own) => encaps.some(({ type, ip }) => own.type === type && own.ip === ip)),
      );
    if (local.chassis.has(chassis)) {
      const message = `gateway ${chassis} of ${member.name} has the name of a chassis of this cluster; one of the two needs another system-id`;
      refused.set(chassis, { code: 'DuplicateChassis', message });
    } else if (clash !== undefined) {
      const message = `gateway ${chassis} of ${member.name} has the tunnel address of ${clash.gateway.chassis} of this cluster; one of the two needs another`;
      refused.set(chassis, { code: 'DuplicateEncap', message });
    } else return encaps.length > 0;
    return false;
  });
  return { gateways, refused };
}

export interface PartingContext {
  readonly members: ReadonlyMap<string, Member>;
  readonly local: LocalView;
  /** Whether northd has a chassis in some group. */
  readonly isGrouped: (chassis: string) => boolean;
}

/**
 * Of gateways that were written and are not kept, those that nobody has and that groups of the southbound database still have.
 * The row of such a chassis must not go before northd has come to its groups: a group that is one chassis short is no
 * group to ovn-controller, and what it forwards is lost until then.
 */
export function partingGateways(
  written: readonly Gateway[],
  kept: readonly Gateway[],
  { members, local, isGrouped }: PartingContext,
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
