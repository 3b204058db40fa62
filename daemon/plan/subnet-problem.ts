/** Problems of subnets on this node. Pure. */
import type { Problem } from '../../lib/desired/problem.ts';

/** Becomes an event on the Subnet and affects nothing else. */
export interface SubnetProblem extends Problem {
  readonly subnet: string;
}

/** The requests of subnets that the kernel has refused. */
export function refusedRequests(
  problems: readonly (Problem & { readonly subnet?: string })[],
  node: string,
): readonly SubnetProblem[] {
  return problems.flatMap(({ code, message, subnet }) =>
    subnet === undefined ? [] : [{ code, message: `node ${node}: the kernel refused ${message}`, subnet }],
  );
}
