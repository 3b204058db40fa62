/** State of the node's network → the condition NetworkUnavailable of its Node. Pure. */
import { networkReadyReason } from '../../lib/api/names.ts';
import type { Problem } from '../../lib/desired/problem.ts';
import type { NodeCondition, Node } from '../model/node.ts';
import { downProblem } from '../settle/program-liveness.ts';
import type { DownProgram } from '../model/program.ts';

export interface NodeStatusInput {
  readonly node: Node;
  /**
   * Problems of the last application of the host network; undefined before the first. Problems of a single subnet do not make the network
   * of the node unavailable.
   */
  readonly hostProblems: readonly (Problem & { readonly subnet?: string })[] | undefined;
  /** Owner → why the local OVS database does not have its rows. */
  readonly portProblems: ReadonlyMap<string, Problem>;
  /** Whether ovn-controller has installed the flows of the node's own port. */
  readonly isInstalled: boolean;
  /** Why ovn-controller has no way to the southbound database. */
  readonly accessProblem: Problem | undefined;
  /** Programs of OVN and Open vSwitch on this node that do not answer. */
  readonly down: readonly DownProgram[];
  /** Why tunnels cannot leave this node. */
  readonly tunnelProblem: Problem | undefined;
}

export type WantedCondition = Omit<NodeCondition, 'lastTransitionTime'>;

export interface NodeStatus {
  readonly condition: WantedCondition;
  readonly isReady: boolean;
}

export function planNodeStatus(input: NodeStatusInput): NodeStatus {
  const problem = findProblem(input);
  if (problem !== undefined)
    return { condition: { status: 'True', reason: problem.code, message: problem.message }, isReady: false };
  return {
    condition: {
      status: 'False',
      reason: networkReadyReason,
      message: 'ovn0 and the CNI server of this node are ready',
    },
    isReady: true,
  };
}

function findProblem(input: NodeStatusInput): Problem | undefined {
  const { node, hostProblems, portProblems, isInstalled, accessProblem, down, tunnelProblem } = input;
  // Comes first, because other problems follow from it: without ovs-vswitchd there is no ovn0 either.
  const [dead] = down;
  if (dead !== undefined) return downProblem(dead);
  if (node.network === undefined)
    return {
      code: 'NodeAddressMissing',
      message: 'the node has no address in the join subnet yet; isthmus-controller allocates it',
    };
  if (typeof node.network === 'string') return { code: 'NodeAnnotationsInvalid', message: node.network };
  const [refused] = portProblems.values();
  if (refused !== undefined) return refused;
  if (hostProblems === undefined) return { code: 'HostNetworkPending', message: 'the host network is being set up' };
  const first = hostProblems.find(({ subnet }) => subnet === undefined);
  if (first !== undefined) return first;
  if (!isInstalled)
    return (
      accessProblem ?? {
        code: 'NodePortNotInstalled',
        message:
          'ovn-controller has not installed the flows of ovn0; it must run and be connected to the southbound database',
      }
    );
  return tunnelProblem;
}

/** Whether the Node already has this condition, so that nothing is written. */
export function isSameCondition(observed: NodeCondition | undefined, wanted: WantedCondition): boolean {
  return observed?.status === wanted.status && observed.reason === wanted.reason && observed.message === wanted.message;
}
