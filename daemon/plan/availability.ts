/** State of the node → whether ADD can work now, for the STATUS command of CNI. Pure. */
import type { Problem } from '../../lib/desired/problem.ts';
import type { DownProgram } from '../model/program.ts';
import type { NodeStatus } from './node-status.ts';

/** Why ADD cannot work on this node. */
export interface AvailabilityProblem extends Problem {
  /** Whether existing pods are affected as well. */
  readonly isLimiting: boolean;
}

export interface AvailabilityInput {
  /** Undefined if the Node object is gone. */
  readonly status: NodeStatus | undefined;
  /** Whether the local OVS database answers. */
  readonly hasDatabase: boolean;
  readonly down: readonly DownProgram[];
}

export function planAvailability({ status, hasDatabase, down }: AvailabilityInput): AvailabilityProblem | undefined {
  const isLimiting = down.some(({ program }) => program === 'ovs-vswitchd');
  if (status === undefined)
    return { code: 'NodeMissing', message: 'the API server has no Node of this name any more', isLimiting };
  if (!status.isReady) return { code: status.condition.reason, message: status.condition.message, isLimiting };
  if (!hasDatabase)
    return {
      code: 'DatabaseDown',
      message: 'the local Open vSwitch database does not answer; look at ovsdb-server on this node',
      isLimiting,
    };
  return undefined;
}
