/** Opens what concerns the ports of pods: their rows, the annotations about them, and the flows that guard them. Resumes the ports of an earlier run. */
import { isDeepStrictEqual } from 'node:util';
import type { Problem } from '../../lib/desired/problem.ts';
import type { Logger } from '../../lib/run/logger.ts';
import { hasNetns } from '../host/netns.ts';
import type { Pod } from '../model/pod.ts';
import type { Sandbox } from '../model/sandbox.ts';
import { PortFlows } from '../ovs/port-flows.ts';
import { guardOf, isGuardedBy } from '../plan/port-guard.ts';
import { isAbandoned } from '../plan/sandbox.ts';
import type { Cluster } from '../state/cluster.ts';
import type { Sandboxes } from '../state/sandboxes.ts';
import type { Local } from './open-local.ts';
import { PortAnnotations } from './port-annotations.ts';
import { PortGuards } from './port-guards.ts';
import { SandboxPorts } from './sandbox-ports.ts';

export interface OpenPodPortsOptions {
  readonly local: Local;
  readonly cluster: Cluster;
  readonly sandboxes: Sandboxes;
  readonly hasMirror: boolean;
  /** OpenFlow socket of the integration bridge. */
  readonly bridgeSocket: string;
  readonly onProblem: (pod: Pod, problem: Problem) => void;
  /** Whether the daemon reads the questions of DNS of a pod. */
  readonly isObserved: (sandbox: Sandbox) => boolean;
  readonly log: Logger;
}

export interface OpenedPodPorts {
  readonly ports: SandboxPorts;
  readonly annotations: PortAnnotations;
  readonly guards: PortGuards;
  close(): void;
}

export function openPodPorts(options: OpenPodPortsOptions): OpenedPodPorts {
  const { local, cluster, sandboxes, hasMirror, bridgeSocket, onProblem, isObserved, log } = options;
  const { netlink, ovs, target } = local;
  const { pods, subnets } = cluster.objects;
  const ports = new SandboxPorts(ovs, target);
  const annotations = new PortAnnotations({
    pods,
    sandboxes,
    ports,
    hasMirror,
    hasNetem: (name) => netlink.hasQdisc(name, 'netem'),
    onProblem,
  });
  for (const { sandbox, isAside } of ports.recorded()) {
    const hasPod = cluster.podOf(sandbox) !== undefined;
    if (isAbandoned({ hasNetns: hasNetns(sandbox.netns), hasPod })) continue;
    sandboxes.add(sandbox);
    ports.resume(sandbox, isAside, annotations.optionsOf(sandbox));
  }
  const flows = new PortFlows({ path: bridgeSocket, log });
  const guards = new PortGuards({
    ovs,
    sandboxes,
    flows,
    guardOf: (sandbox) => guardOf({ sandbox, pod: cluster.podOf(sandbox), subnets: cluster.subnets }),
    isObserved,
  });
  pods.subscribe(({ before, after }) => isDeepStrictEqual(before, after) || guards.refresh());
  // The status of a Subnet changes with each of its pods.
  subnets.subscribe(({ before, after }) => {
    if (isDeepStrictEqual(before, after)) return;
    const either = [before, after].filter((subnet) => subnet !== undefined);
    guards.refresh((sandbox) => either.some((subnet) => isGuardedBy(subnet, sandbox)));
  });
  return {
    ports,
    annotations,
    guards,
    close() {
      for (const part of [annotations, guards, flows]) part.close();
    },
  };
}
