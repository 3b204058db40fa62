/** The state of this cluster's membership in one value. In: a snapshot. Out: the value that `status` shows and prints as JSON. Pure. */
import type { Condition } from '../../lib/api/kinds/shared.ts';
import type { Problem } from '../../lib/desired/problem.ts';
import {
  isHidden,
  specOf,
  type Gateway,
  type RemoteCluster,
  type Snapshot,
  type TransitSwitch,
} from '../model/snapshot.ts';
import { diagnose, type FoundCause } from './diagnose/diagnose.ts';

export interface Status {
  readonly cluster: string;
  readonly hub: string;
  /** No fault was found, and all decisive objects could be read. */
  readonly isWell: boolean;
  readonly problems: readonly FoundCause[];
  readonly consequences: readonly FoundCause[];
  readonly warnings: readonly FoundCause[];
  readonly conditions: readonly Condition[];
  readonly agent: { readonly holder: string; readonly renewedMs: number } | undefined;
  readonly certificateEndsMs: number | undefined;
  readonly routes: { readonly advertised: number; readonly learned: number; readonly rejected: number };
  readonly gateways: readonly Gateway[];
  readonly transitSwitches: readonly TransitSwitch[];
  readonly remoteClusters: readonly RemoteCluster[];
  /** The hub's members, if the hub runs in this cluster. */
  readonly members: Snapshot['members'];
  readonly unreadable: readonly Problem[];
  /** Kinds, by their plural, that could not be read and without which the state is not known. */
  readonly unseen: readonly string[];
}

/** The kinds that decide whether the membership is well. */
const decisive = ['remoteclusters', 'transitswitches', 'interconnectgateways'] as const;

export function statusOf(near: Snapshot): Status {
  const found = diagnose({ near, far: undefined, peer: undefined });
  const { interconnect, lease, identity } = near;
  const unseen = interconnect === undefined ? [] : decisive.filter((kind) => isHidden(near, kind));
  const status = interconnect?.status;
  return {
    cluster: near.label,
    hub: specOf(near)?.hub ?? '',
    isWell: found.isWell && unseen.length === 0,
    problems: found.causes,
    consequences: found.consequences,
    warnings: found.warnings,
    conditions: status?.conditions ?? [],
    agent: lease === undefined ? undefined : { holder: lease.holder, renewedMs: lease.renewedMs },
    certificateEndsMs: identity === undefined || 'code' in identity ? undefined : identity.notAfterMs,
    routes: {
      advertised: status?.routesAdvertised ?? 0,
      learned: status?.routesLearned ?? 0,
      rejected: status?.routesRejected ?? 0,
    },
    gateways: near.gateways,
    transitSwitches: near.transitSwitches,
    remoteClusters: near.remotes,
    members: near.members,
    unreadable: found.unreadable,
    unseen,
  };
}
