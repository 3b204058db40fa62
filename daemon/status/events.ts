/** Records an event for each new problem, on the object whose spec or annotations this node cannot follow. */
import type { Problem } from '../../lib/desired/problem.ts';
import type { EventRecorder } from '../../lib/kube/events.ts';
import type { Logger } from '../../lib/run/logger.ts';
import { apiVersionOf, bgpNodeStates } from '../../lib/kube/resources.ts';
import type { SubnetProblem } from '../plan/subnet-problem.ts';
import type { PodProblem } from '../plan/underlay/stranded.ts';
import type { Node } from '../model/node.ts';
import type { Pod } from '../model/pod.ts';
import type { BgpNodeState } from '../model/bgp-node-state.ts';

export interface ObjectEventsOptions {
  readonly events: Pick<EventRecorder, 'record'>;
  readonly log: Logger;
  /** Undefined if the Subnet is gone. */
  readonly uidOfSubnet: (name: string) => string | undefined;
}

export class ObjectEvents {
  readonly #options: ObjectEventsOptions;
  readonly #ofSubnets = new CurrentProblems<SubnetProblem>();
  /** Problems on the node's BgpNodeState. */
  readonly #bgp = new CurrentProblems<Problem>();
  readonly #ofPods = new CurrentProblems<PodProblem>();
  readonly #access = new CurrentProblems<Problem>();
  readonly #services = new CurrentProblems<Problem>();
  #hasDryRun = false;
  readonly #gates = new CurrentProblems<Problem>();
  readonly #ofServices = new Map<string, CurrentProblems<Problem>>();

  constructor(options: ObjectEventsOptions) {
    this.#options = options;
  }

  /** To be called after each change, with all current problems. */
  reportSubnets(problems: readonly SubnetProblem[]): void {
    const begun = this.#ofSubnets.update(problems, (one) => `${one.subnet} ${one.code} ${one.message}`);
    for (const { subnet, code, message } of begun) {
      const uid = this.#options.uidOfSubnet(subnet);
      if (uid === undefined) continue;
      this.#options.log.warn({ subnet, reason: code }, message);
      this.#options.events.record(
        { apiVersion: 'kubeovn.io/v1', kind: 'Subnet', name: subnet, uid },
        'Warning',
        code,
        message,
      );
    }
  }

  /** Problems with prefixes learned by BGP and with BGP neighbours; `state` is undefined if the node has no speaker. */
  reportBgp(state: Pick<BgpNodeState, 'name' | 'uid'> | undefined, problems: readonly Problem[]): void {
    const now = state === undefined ? [] : problems;
    const subject = { apiVersion: apiVersionOf(bgpNodeStates), kind: bgpNodeStates.kind, name: '', uid: '', ...state };
    for (const { code, message } of this.#bgp.update(now, (one) => one.message)) {
      this.#options.log.warn({ reason: code }, message);
      const { apiVersion, kind, name, uid } = subject;
      this.#options.events.record({ apiVersion, kind, name, uid }, 'Warning', code, message);
    }
  }

  /** `problem`: why ovn-controller has no way to the southbound database; undefined while it has one. */
  reportAccess(node: Pick<Node, 'name' | 'uid'>, problem: Problem | undefined): void {
    const now = problem === undefined ? [] : [problem];
    for (const begun of this.#access.update(now, (one) => one.message)) this.reportNode(node, begun);
  }

  reportNode({ name, uid }: Pick<Node, 'name' | 'uid'>, { code, message }: Problem): void {
    this.#options.log.warn({ reason: code }, message);
    this.#options.events.record({ apiVersion: 'v1', kind: 'Node', name, uid }, 'Warning', code, message);
  }

  /** Problems of the node with Services, all current ones. */
  reportServices(node: Pick<Node, 'name' | 'uid'>, problems: readonly Problem[]): void {
    for (const begun of this.#services.update(problems, (one) => `${one.code} ${one.message}`))
      this.reportNode(node, begun);
  }

  /** Once for each process. */
  reportDryRun({ name, uid }: Pick<Node, 'name' | 'uid'>): void {
    if (this.#hasDryRun) return;
    this.#hasDryRun = true;
    const message = `this node serves no Services (services.nodes: dry-run); "isthmus nodes services" prints what it would serve in place of kube-proxy, and what would be in the way`;
    this.#options.events.record({ apiVersion: 'v1', kind: 'Node', name, uid }, 'Normal', 'ServicesDryRun', message);
  }

  /** Problems of the node with the gates of VPCs, all current ones. */
  reportGates(node: Pick<Node, 'name' | 'uid'>, problems: readonly Problem[]): void {
    for (const begun of this.#gates.update(problems, (one) => one.message)) this.reportNode(node, begun);
  }

  /** All current problems of each of these Services. */
  reportServiceProblems(
    problems: ReadonlyMap<string, readonly Problem[]>,
    uidOf: (service: string) => string | undefined,
  ): void {
    for (const [service, now] of problems) {
      const known = this.#ofServices.get(service) ?? new CurrentProblems<Problem>();
      const begun = known.update(now, (one) => `${one.code} ${one.message}`);
      if (now.length === 0) this.#ofServices.delete(service);
      else this.#ofServices.set(service, known);
      const [namespace = '', name = ''] = service.split('/');
      const uid = uidOf(service);
      if (uid === undefined) continue;
      for (const { code, message } of begun) {
        this.#options.log.warn({ service, reason: code }, message);
        const subject = { apiVersion: 'v1', kind: 'Service', namespace, name, uid };
        this.#options.events.record(subject, 'Warning', code, message);
      }
    }
  }

  /** To be called after each change, with all current problems of pods. */
  reportPods(problems: readonly PodProblem[]): void {
    const begun = this.#ofPods.update(problems, (one) => `${one.pod.uid} ${one.problem.message}`);
    for (const { pod, problem } of begun) this.reportPod(pod, problem);
  }

  reportPod({ namespace, name, uid }: Pod, { code, message }: Problem): void {
    this.#options.log.warn({ pod: `${namespace}/${name}`, reason: code }, message);
    this.#options.events.record({ apiVersion: 'v1', kind: 'Pod', namespace, name, uid }, 'Warning', code, message);
  }
}

/** The problems of one kind, remembered from one report to the next. */
class CurrentProblems<T> {
  #keys: ReadonlySet<string> = new Set();

  /** Sets the current problems and returns the new ones, each once. */
  update(now: readonly T[], keyOf: (one: T) => string): readonly T[] {
    const byKey = new Map(now.map((one) => [keyOf(one), one]));
    const before = this.#keys;
    this.#keys = new Set(byKey.keys());
    return [...byKey].flatMap(([key, one]) => (before.has(key) ? [] : [one]));
  }
}
