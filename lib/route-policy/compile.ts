/** Compiles the RoutePolicy objects of a cluster to one value that decides about prefixes. Pure. */
import type { Problem } from '../desired/problem.ts';
import { compileSpec, type CompiledPolicy } from './check.ts';
import type { RoutePolicy } from './policy.ts';

/** The result for one object. */
export interface Judged {
  readonly name: string;
  readonly uid: string;
  readonly generation: number;
  /** Undefined if the object is refused and no earlier version is known. */
  readonly applied: CompiledPolicy | undefined;
  /** Why the present spec is refused; `applied` is then the version before. */
  readonly problem: Problem | undefined;
}

export interface PolicySet {
  /** In order of evaluation. */
  readonly imports: readonly CompiledPolicy[];
  readonly exports: readonly CompiledPolicy[];
  readonly judged: ReadonlyMap<string, Judged>;
}

export const noPolicies: PolicySet = { imports: [], exports: [], judged: new Map() };

/**
 * A spec with one invalid field is refused as a whole, and the object's last valid spec stays applied: from `before`,
 * or from its status after a restart. A partly applied policy would accept or reject unintended prefixes.
 * Returns `before` itself if no spec changed, so that plans can compare it by identity.
 */
export function compilePolicies(policies: Iterable<RoutePolicy>, before: PolicySet = noPolicies): PolicySet {
  const judged = new Map<string, Judged>();
  for (const policy of policies) judged.set(policy.name, judge(policy, before.judged.get(policy.name)));
  const isSame =
    judged.size === before.judged.size && [...judged].every(([name, one]) => before.judged.get(name) === one);
  if (isSame) return before;
  const inOrder = [...judged.values()].flatMap(({ applied }) => applied ?? []).sort(byPriority);
  return {
    imports: inOrder.filter(({ spec }) => spec.direction === 'Import'),
    exports: inOrder.filter(({ spec }) => spec.direction === 'Export'),
    judged,
  };
}

function judge({ name, uid, generation, spec, inForce }: RoutePolicy, known: Judged | undefined): Judged {
  const before = known?.uid === uid ? known : undefined;
  if (before?.generation === generation) return before;
  const outcome = 'code' in spec ? spec : compileSpec(name, spec);
  if (!('code' in outcome)) return { name, uid, generation, applied: outcome, problem: undefined };
  const kept = before === undefined && inForce !== undefined ? compileSpec(name, inForce) : before?.applied;
  const applied = kept === undefined || 'code' in kept ? undefined : kept;
  return { name, uid, generation, applied, problem: outcome };
}

function byPriority(a: CompiledPolicy, b: CompiledPolicy): number {
  return a.spec.priority - b.spec.priority || (a.name < b.name ? -1 : 1);
}
