import type { Problem } from '../../lib/desired/problem.ts';
import type { Condition } from '../../lib/api/kinds/shared.ts';
import type { View } from './view.ts';

export type WantedCondition = Pick<Condition, 'type' | 'status' | 'reason' | 'message' | 'observedGeneration'>;

/** At most so many pods are named in a message. */
const namedPods = 5;

function deletionMessage(view: View, name: string): string {
  const ports = [...(view.pool(name)?.allocations().keys() ?? [])];
  const rest = ports.length > namedPods ? ` and ${ports.length - namedPods} more` : '';
  return `waits for the release of the addresses of ${ports.slice(0, namedPods).join(', ')}${rest}`;
}

/** Conditions of a Subnet. `refused` is what the database said to its rows. */
export function planSubnetConditions(
  view: View,
  name: string,
  refused: Problem | undefined,
): readonly WantedCondition[] {
  const subnet = view.subnets.get(name);
  const verdict = view.verdicts.get(name);
  if (subnet === undefined || verdict === undefined) return [];
  const observedGeneration = subnet.generation;
  const { problem } = verdict;
  const validated: WantedCondition = {
    type: 'Validated',
    status: problem === undefined ? 'True' : 'False',
    reason: problem?.code ?? 'ValidateLogicalSwitchSuccess',
    message: problem?.message ?? '',
    observedGeneration,
  };
  const deletion = subnet.isDeleting ? { code: 'Deleting', message: deletionMessage(view, name) } : undefined;
  const obstacle = problem ?? refused ?? deletion;
  const ready: WantedCondition = {
    type: 'Ready',
    status: obstacle === undefined ? 'True' : 'False',
    reason: obstacle?.code ?? 'ResetLogicalSwitchAclSuccess',
    message: obstacle?.message ?? '',
    observedGeneration,
  };
  return [validated, ready];
}

/** Validated and Ready of an object: what is wrong with its spec, and what the database said to its rows. */
export function obstacleConditions(
  observedGeneration: number,
  problem: Problem | undefined,
  refused: Problem | undefined,
  ready: string,
): readonly WantedCondition[] {
  const of = (type: string, obstacle: Problem | undefined, reason: string): WantedCondition => ({
    type,
    status: obstacle === undefined ? 'True' : 'False',
    reason: obstacle?.code ?? reason,
    message: obstacle?.message ?? '',
    observedGeneration,
  });
  return [of('Validated', problem, 'Validated'), of('Ready', problem ?? refused, ready)];
}

/** Conditions of a Vpc; one that cannot be served says why. */
export function planVpcConditions(generation: number, problem: Problem | undefined): readonly WantedCondition[] {
  return [
    {
      type: 'Ready',
      status: problem === undefined ? 'True' : 'False',
      reason: problem?.code ?? 'LogicalRouterReady',
      message: problem?.message ?? '',
      observedGeneration: generation,
    },
  ];
}
