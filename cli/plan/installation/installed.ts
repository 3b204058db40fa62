/** The state of an installation in one value, as `isthmus status` shows it. Pure. */
import type { Installation, Missing, Rollout } from '../../model/installation.ts';
import { missingOf, nodesOf, unfinished } from './missing.ts';

export interface Installed {
  readonly cluster: string;
  readonly namespace: string;
  readonly isWell: boolean;
  readonly missing: readonly Missing[];
  readonly workloads: readonly {
    readonly kind: Rollout['kind'];
    readonly name: string;
    readonly desired: number;
    readonly ready: number;
    readonly isDone: boolean;
  }[];
  readonly nodes: { readonly all: number; readonly ready: number };
}

export function installedOf(installation: Installation): Installed {
  const missing = missingOf(installation);
  const nodes = nodesOf(installation);
  const ill = new Set(missing.map(({ object }) => object));
  return {
    cluster: installation.label,
    namespace: installation.namespace,
    isWell: missing.length === 0,
    missing,
    workloads: installation.rollouts.map((rollout) => ({
      kind: rollout.kind,
      name: rollout.name,
      desired: rollout.desired,
      ready: rollout.ready,
      isDone: unfinished(rollout) === undefined,
    })),
    nodes: { all: nodes.length, ready: nodes.filter(({ name }) => !ill.has(`Node ${name}`)).length },
  };
}
