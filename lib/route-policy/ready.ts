import type { Condition } from '../api/kinds/shared.ts';
import type { Judged } from './compile.ts';

/** The condition Ready of a policy, the same for every room that applies the policy. */
export function readyOf({ applied, problem }: Judged): Omit<Condition, 'type'> {
  if (problem === undefined) return { status: 'True', reason: 'InForce', message: 'the policy is applied' };
  const meanwhile =
    applied === undefined
      ? 'nothing of this policy is applied until that is corrected'
      : 'its last valid version stays in force until that is corrected';
  return { status: 'False', reason: problem.code, message: `${problem.message}; ${meanwhile}` };
}
