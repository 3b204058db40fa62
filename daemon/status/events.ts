/** Events on objects whose wishes this node cannot follow. In: problems as they are now. Out: an event for each new one. */
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
  /** undefined where there is no such Subnet any more. */
  readonly uidOfSubnet: (name: string) => string | undefined;
}

export class ObjectEvents {
  readonly #options: ObjectEventsOptions;
  readonly #ofSubnets = new Standing<SubnetProblem>();
  /** Of the node's BgpNodeState. */
  readonly #learned = new Standing<Problem>();
  readonly #ofPods = new Standing<PodProblem>();
  readonly #access = new Standing<Problem>();

  constructor(options: ObjectEventsOptions) {
    this.#options = options;
  }

  /** To be called after each round, with all problems there are. */
  tellSubnets(problems: readonly SubnetProblem[]): void {
    const begun = this.#ofSubnets.begun(problems, (one) => `${one.subnet} ${one.code} ${one.message}`);
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

  /** What of the prefixes learned by BGP this node does not route; undefined where the node has no speaker. */
  tellLearned(state: Pick<BgpNodeState, 'name' | 'uid'> | undefined, problems: readonly Problem[]): void {
    const now = state === undefined ? [] : problems;
    const subject = { apiVersion: apiVersionOf(bgpNodeStates), kind: bgpNodeStates.kind, name: '', uid: '', ...state };
    for (const { code, message } of this.#learned.begun(now, (one) => one.message)) {
      this.#options.log.warn({ reason: code }, message);
      const { apiVersion, kind, name, uid } = subject;
      this.#options.events.record({ apiVersion, kind, name, uid }, 'Warning', code, message);
    }
  }

  /** Why ovn-controller has no way to the southbound database; undefined while it has one. */
  tellAccess(node: Pick<Node, 'name' | 'uid'>, problem: Problem | undefined): void {
    const now = problem === undefined ? [] : [problem];
    for (const begun of this.#access.begun(now, (one) => one.message)) this.tellNode(node, begun);
  }

  tellNode({ name, uid }: Pick<Node, 'name' | 'uid'>, { code, message }: Problem): void {
    this.#options.log.warn({ reason: code }, message);
    this.#options.events.record({ apiVersion: 'v1', kind: 'Node', name, uid }, 'Warning', code, message);
  }

  /** To be called after each change, with all problems of that kind that there are. */
  tellPods(problems: readonly PodProblem[]): void {
    const begun = this.#ofPods.begun(problems, (one) => `${one.pod.uid} ${one.problem.message}`);
    for (const { pod, problem } of begun) this.tellPod(pod, problem);
  }

  tellPod({ namespace, name, uid }: Pod, { code, message }: Problem): void {
    this.#options.log.warn({ pod: `${namespace}/${name}`, reason: code }, message);
    this.#options.events.record({ apiVersion: 'v1', kind: 'Pod', namespace, name, uid }, 'Warning', code, message);
  }
}

/** What holds, from one look to the next. */
class Standing<T> {
  #keys: ReadonlySet<string> = new Set();

  /** Those of `now` that did not hold at the last look, each once. */
  begun(now: readonly T[], keyOf: (one: T) => string): readonly T[] {
    const byKey = new Map(now.map((one) => [keyOf(one), one]));
    const before = this.#keys;
    this.#keys = new Set(byKey.keys());
    return [...byKey].flatMap(([key, one]) => (before.has(key) ? [] : [one]));
  }
}
