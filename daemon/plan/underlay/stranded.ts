/** Finds pods in provider networks that this node has left: they have lost their network. Pure. */
import type { Problem } from '../../../lib/desired/problem.ts';
import type { Pod } from '../../model/pod.ts';
import type { Sandbox } from '../../model/sandbox.ts';
import type { Subnet } from '../../model/subnet.ts';
import type { NetworkReport } from '../../model/provider-network.ts';

export interface StrandedInput {
  readonly sandboxes: Iterable<Sandbox>;
  /** Undefined if the pod is gone, or if another pod has its name. */
  readonly podOf: (sandbox: Sandbox) => Pod | undefined;
  readonly subnetOf: (name: string) => Subnet | undefined;
  /** State of a provider network on this node; a sentence if the node is without it. */
  readonly stateOf: (provider: string) => NetworkReport | string | undefined;
}

export interface PodProblem {
  readonly pod: Pod;
  readonly problem: Problem;
}

export function findStranded({ sandboxes, podOf, subnetOf, stateOf }: StrandedInput): readonly PodProblem[] {
  return [...sandboxes].flatMap((sandbox) => {
    const pod = podOf(sandbox);
    const network = pod?.interfaces.get(sandbox.provider)?.network;
    const underlay = typeof network === 'object' ? subnetOf(network.subnet)?.underlay : undefined;
    const state = underlay && stateOf(underlay.provider);
    if (pod === undefined || typeof state !== 'string') return [];
    const message = `interface ${sandbox.ifname} has no connection: ${state}; add the node to the network again, or delete the pod`;
    return [{ pod, problem: { code: 'ProviderNetworkLeft', message } }];
  });
}
