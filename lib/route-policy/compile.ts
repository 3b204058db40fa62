/** The RoutePolicy objects of a cluster as one value that can be asked about prefixes. Pure. */
import type { Problem } from '../desired/problem.ts';
import { compileSpec, type CompiledPolicy } from './check.ts';
import type { RoutePolicy } from './policy.ts';

/** What became of one object. */
export interface Judged {
  readonly name: string;
  readonly uid: string;
  readonly generation: number;
  /** Undefined where the object is refused and no version before is known. */
  readonly applied: CompiledPolicy | undefined;
  /** Why the present spec is refused; `applied` is then the version before it. */
  readonly problem: Problem | undefined;
}

export interface PolicySet {
  /** In the order they are asked. */
  readonly imports: readonly CompiledPolicy[];
  readonly exports: readonly CompiledPolicy[];
  readonly judged: ReadonlyMap<string, Judged>;
}

export const noPolicies: PolicySet = { imports: [], exports: [], judged: new Map() };

/**
 * A spec that is invalid in one place is refused whole, and the object's last valid one goes on being applied: from
 * `before`, or from its status after a restart. Half a policy would let through, or hold back, what nobody asked for.
 * `before` itself comes back where no spec changed, so that plans can remember it by identity.
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
