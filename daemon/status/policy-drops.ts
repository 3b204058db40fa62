/**
 * Events about packets that policies dropped. In: samples that OVN sends to the controllers of the bridge (ADR 52), the southbound database, which says what rule the flow is
 * of, and NetworkPolicies and pods, which say what policies isolate a port. Out: an event on the pod (`events.ts`), and a count of every sample. Rule: a sample waits for a reading
 * of the bridge's ports that is younger than it, and nothing that a sender can vary makes more than a fixed number of readings, entries and events.
 */
import type { Problem } from '../../lib/desired/problem.ts';
import type { PolicyDirection } from '../../lib/policies/selection.ts';
import type { Logger } from '../../lib/run/logger.ts';
import type { AclFlow } from '../model/acl-flow.ts';
import type { IsolatingPolicy } from '../model/isolating-policy.ts';
import type { PacketHeaders, PacketIn } from '../model/packet-in.ts';
import type { Pod } from '../model/pod.ts';
import { portKey, type BridgePorts } from '../ovs/flow-reader.ts';
import { readHeaders } from '../ovs/packet-headers.ts';
import { isolatingPolicies } from '../plan/isolating-policies.ts';
import { dropProblem } from '../plan/policy-drop.ts';
import { isInTableOfAcl } from '../settle/acl-tables.ts';
import type { Mirror } from '../state/cluster.ts';
import { DropLimits } from './drop-limits.ts';
import type { PodPort } from './pod-at.ts';

/** What became of a sample. `event`; `limited`: there were too many; `unlabelled`: of a Namespace that wants no events; `multicast`; `unknown`: its pod or policy is not known, or it is not a packet of IP. */
export const dropResults = ['event', 'limited', 'unlabelled', 'multicast', 'unknown'] as const;
export type DropResult = (typeof dropResults)[number];

/** What is read of a pod. */
export type DropPod = Pick<Pod, 'namespace' | 'name' | 'uid' | 'labels'>;

export interface PolicyDropsOptions<P extends DropPod> {
  /** Logical flows of policies by cookie; undefined until they are known. */
  readonly logicalFlows: { readonly acls: ReadonlyMap<number, AclFlow> | undefined };
  readonly policies: Pick<Mirror<IsolatingPolicy>, 'entries'>;
  /** @throws Error if the bridge does not answer */
  readonly readPorts: () => Promise<BridgePorts>;
  /** The pod at a port of the bridge; undefined if it is of no pod. */
  readonly podAt: (port: number) => PodPort<P> | undefined;
  /** The pod of this node and of the same Namespace with an address in the same VPC as another interface. */
  readonly peerOf: (at: PodPort<P>, address: string) => Pick<Pod, 'namespace' | 'name'> | undefined;
  /** Whether the pods of a Namespace get events. */
  readonly isWanted: (namespace: string) => boolean;
  readonly report: (pod: P, problem: Problem) => void;
  readonly log: Pick<Logger, 'warn'>;
  /** Milliseconds from a sample to the reading of ports. */
  readonly delayMs?: number;
}

interface Sample {
  readonly acl: AclFlow;
  readonly port: string;
  readonly packet: PacketHeaders;
  packets: number;
}

const defaultDelayMs = 1000;
/** Different samples between two readings. */
const mostWaiting = 256;
/** Logical flows are looked up in a map that is this old at most, because it is made anew each time. */
const staleMs = 1000;

export class PolicyDrops<P extends DropPod = DropPod> {
  /** Samples by direction and result. */
  readonly counts = new Map<`${PolicyDirection} ${DropResult}`, number>();
  readonly #options: PolicyDropsOptions<P>;
  readonly #limits = new DropLimits(performance.now());
  #waiting = new Map<string, Sample>();
  #timer: NodeJS.Timeout | undefined;
  #acls: ReadonlyMap<number, AclFlow> | undefined;
  #aclsAt = -Infinity;
  #problem: string | undefined;

  constructor(options: PolicyDropsOptions<P>) {
    this.#options = options;
  }

  /** Takes any packet that the bridge sends to its controllers; those that no policy dropped are left alone. */
  take(packet: PacketIn): void {
    const acl = this.#aclsNow()?.get(packet.cookie);
    if (acl === undefined || !isDrop(acl) || !isInTableOfAcl(packet, acl)) return;
    const { direction } = acl;
    const headers = readHeaders(packet.frame);
    if (headers === undefined) return this.#count(direction, 'unknown');
    if (headers.isMulticast) return this.#count(direction, 'multicast');
    const port = portKey(packet.datapath, direction === 'ingress' ? packet.outPort : packet.inPort);
    const { protocol, source, destination, port: to = '' } = headers;
    const key = `${packet.cookie} ${port} ${protocol} ${source} ${destination} ${to}`;
    const known = this.#waiting.get(key);
    if (known !== undefined) known.packets += 1;
    else if (this.#waiting.size >= mostWaiting) this.#count(direction, 'limited');
    else this.#waiting.set(key, { acl, port, packet: headers, packets: 1 });
    this.#timer ??= setTimeout(() => void this.#judge(), this.#options.delayMs ?? defaultDelayMs).unref();
  }

  close(): void {
    clearTimeout(this.#timer);
  }

  #aclsNow(): ReadonlyMap<number, AclFlow> | undefined {
    const now = performance.now();
    if (now - this.#aclsAt >= staleMs) [this.#acls, this.#aclsAt] = [this.#options.logicalFlows.acls, now];
    return this.#acls;
  }

  async #judge(): Promise<void> {
    const samples = [...this.#waiting.values()];
    this.#waiting = new Map();
    let ports: BridgePorts = new Map();
    let problem: string | undefined;
    try {
      ports = await this.#options.readPorts();
    } catch (error) {
      if (!(error instanceof Error)) throw error;
      problem = error.message;
    }
    this.#timer = undefined;
    if (problem !== undefined && problem !== this.#problem)
      this.#options.log.warn({ reason: problem }, 'the pods of dropped packets cannot be found now');
    this.#problem = problem;
    for (const sample of samples) {
      const result = this.#resultOf(sample, ports);
      this.#count(sample.acl.direction, result, sample.packets);
    }
  }

  #resultOf({ acl, port, packet }: Sample, ports: BridgePorts): DropResult {
    const { podAt, peerOf, isWanted, policies, report } = this.#options;
    const bridgePort = ports.get(port);
    const at = bridgePort === undefined ? undefined : podAt(bridgePort);
    if (at === undefined) return 'unknown';
    const { pod, provider } = at;
    if (!isWanted(pod.namespace)) return 'unlabelled';
    const { direction } = acl;
    const all = [...policies.entries()].map(([, policy]) => policy);
    const isolating = acl.rules === undefined ? isolatingPolicies(all, pod, provider, direction) : [];
    if (acl.rules === undefined && isolating.length === 0) return 'unknown';
    const address = direction === 'ingress' ? packet.source : packet.destination;
    if (!this.#limits.take(pod.uid, address, performance.now())) return 'limited';
    report(pod, dropProblem({ origin: acl, pod, packet, peer: peerOf(at, address), isolating }));
    return 'event';
  }

  #count(direction: PolicyDirection, result: DropResult, packets = 1): void {
    const key = `${direction} ${result}` as const;
    this.counts.set(key, (this.counts.get(key) ?? 0) + packets);
  }
}

function isDrop(acl: AclFlow): boolean {
  return acl.rules === undefined || acl.verdict === 'drop';
}
