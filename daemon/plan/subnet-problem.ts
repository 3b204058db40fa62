/** What a node cannot do for subnets. Pure. */
import type { Problem } from '../../lib/desired/problem.ts';

/** It becomes an event on the Subnet and stops nothing else. */
export interface SubnetProblem extends Problem {
  readonly subnet: string;
}

/** Those of the kernel's refusals that are one subnet's. */
export function refusedWishes(
  problems: readonly (Problem & { readonly subnet?: string })[],
  node: string,
): readonly SubnetProblem[] {
  return problems.flatMap(({ code, message, subnet }) =>
    subnet === undefined ? [] : [{ code, message: `node ${node}: the kernel refused ${message}`, subnet }],
  );
}
