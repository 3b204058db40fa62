/**
 * Whether Isthmus can be installed in a cluster with these values. In: the facts of the cluster, and the values. Out: the result of each check. Pure.
 * Called by `isthmus check`.
 */
import type { Problem } from '../../../lib/desired/problem.ts';
import type { Cause } from '../diagnose/step.ts';
import { judgeKernels, judgeRuntimes, judgeSystems } from './machines.ts';
import { judgeNodeAddresses } from './node-addresses.ts';
import { judgeDefinitions, judgeInstallation, judgeOtherNetworks, judgeServiceProxy } from './other-networks.ts';
import { judgeConfigurations, judgeListening, judgeLooks, judgeModules, judgeMtu } from './on-nodes.ts';
import type { Check, CheckState, Question } from './outcome.ts';
import {
  judgeAdmission,
  judgeAgents,
  judgeCentral,
  judgeController,
  judgeGateways,
  judgeHub,
  judgeSpeakers,
} from './placement.ts';
import { judgePorts } from './ports.ts';
import { judgeMachineAddresses, judgeNetworks, judgeNodePodCidrs, judgeServiceRange, judgeSizes } from './ranges.ts';
import { judgeTunnels } from './tunnels.ts';
import { judgeKubelets, judgeServer } from './versions.ts';

const checks: readonly Check[] = [
  { name: 'installation', judge: judgeInstallation },
  { name: 'other networks', judge: judgeOtherNetworks },
  { name: 'kinds', judge: judgeDefinitions },
  { name: 'Kubernetes', judge: judgeServer },
  { name: 'kubelets', judge: judgeKubelets },
  { name: 'nodes', judge: judgeSystems },
  { name: 'kernels', judge: judgeKernels },
  { name: 'container runtimes', judge: judgeRuntimes },
  { name: 'node addresses', judge: judgeNodeAddresses },
  { name: 'networks', judge: judgeNetworks },
  { name: 'Service range', judge: judgeServiceRange },
  { name: 'machines outside of the networks', judge: judgeMachineAddresses },
  { name: 'sizes', judge: judgeSizes },
  { name: 'networks per node', judge: judgeNodePodCidrs },
  { name: 'OVN central', judge: judgeCentral },
  { name: 'controller', judge: judgeController },
  { name: 'speakers', judge: judgeSpeakers },
  { name: 'gateways', judge: judgeGateways },
  { name: 'agents', judge: judgeAgents },
  { name: 'hub', judge: judgeHub },
  { name: 'Services', judge: judgeServiceProxy },
  { name: 'admission policies', judge: judgeAdmission },
  { name: 'tunnels', judge: judgeTunnels },
  { name: 'ports', judge: judgePorts },
  { name: 'looks at nodes', judge: judgeLooks },
  { name: 'kernel modules', judge: judgeModules },
  { name: 'MTU', judge: judgeMtu },
  { name: 'ports of other programs', judge: judgeListening },
  { name: 'CNI configurations', judge: judgeConfigurations },
];

export interface CheckReport {
  readonly name: string;
  readonly state: CheckState;
  readonly evidence: string;
}

export interface Report {
  readonly cluster: string;
  /** No problem was found, and all decisive facts could be read. */
  readonly isWell: boolean;
  /** Whether the nodes themselves were inspected. */
  readonly hasLooked: boolean;
  readonly problems: readonly Cause[];
  readonly warnings: readonly Cause[];
  readonly checks: readonly CheckReport[];
  readonly unreadable: readonly Problem[];
}

export function check(question: Question): Report {
  const found = checks.flatMap(({ name, judge }) => {
    const outcome = judge(question);
    return outcome === undefined ? [] : [{ name, ...outcome }];
  });
  const { label, unreadable } = question.facts;
  const problems = found.flatMap((one) => one.problems);
  return {
    cluster: label,
    isWell: problems.length === 0 && unreadable.length === 0 && found.every(({ state }) => state !== 'unknown'),
    hasLooked: question.facts.looks !== undefined,
    problems,
    warnings: found.flatMap((one) => one.warnings),
    checks: found.map(({ name, state, evidence }) => ({ name, state, evidence })),
    unreadable,
  };
}
