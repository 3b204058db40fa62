/** Opens what reports the domain names that pods of this node ask DNS for. */
import type { AskedDomain } from '../../lib/api/kinds/asked-domains.ts';
import type { Problem } from '../../lib/desired/problem.ts';
import type { KubeClient, Reflector } from '../../lib/kube/types.ts';
import type { Logger } from '../../lib/run/logger.ts';
import type { Pod } from '../model/pod.ts';
import type { Sandbox } from '../model/sandbox.ts';
import { PacketIns } from '../ovs/packet-ins.ts';
import { copyControllerId } from '../ovs/port-flows.ts';
import { AskedDomainsReport, isResolver, type DomainPatterns } from './asked-domains.ts';
import { podAtOf, type PodAtSources } from './pod-at.ts';

export interface OpenAskedDomainsOptions extends PodAtSources {
  readonly client: KubeClient;
  readonly node: { readonly name: string; readonly uid: string };
  readonly sources: {
    readonly patterns: DomainPatterns;
    /** The object of this node. */
    readonly own: Pick<Reflector<readonly AskedDomain[]>, 'get' | 'subscribe'>;
  };
  /** OpenFlow socket of the integration bridge. */
  readonly bridgeSocket: string;
  readonly report: (pod: Pod, problem: Problem) => void;
  readonly signal: AbortSignal;
  readonly log: Logger;
}

export interface OpenedAskedDomains {
  isObserved(sandbox: Sandbox): boolean;
  /** Called when other pods are observed than before. */
  onObserved(listener: () => void): void;
  close(): Promise<void>;
}

export function openAskedDomains(options: OpenAskedDomainsOptions): OpenedAskedDomains {
  const { client, node, cluster, sources, bridgeSocket: path, report, signal, log } = options;
  const { patterns, own } = sources;
  const listeners: (() => void)[] = [];
  const podAt = podAtOf(options);
  const names = new AskedDomainsReport<Pod>({
    client,
    node,
    known: own.get(node.name),
    patterns,
    podAt: (port) => podAt(port)?.pod,
    report,
    onObserved: () => listeners.forEach((listener) => listener()),
    signal,
    log,
  });
  own.subscribe(({ after }) => {
    if (after === undefined) names.gone();
  });
  const packets = new PacketIns({
    path,
    controllerId: copyControllerId,
    what: 'questions of DNS',
    onPacket: (packet) => names.take(packet),
    log,
  });
  return {
    isObserved(sandbox) {
      // Questions of a pod that is not known count for nobody, so that no limit would end a flood of them.
      const pod = cluster.podOf(sandbox);
      return pod !== undefined && !isResolver(pod) && names.isObserved(sandbox);
    },
    onObserved: (listener) => listeners.push(listener),
    async close() {
      packets.close();
      await names.close();
    },
  };
}
