/** Events on objects whose wishes this node cannot follow. In: problems as they are now. Out: an event for each new one. */
import type { Problem } from '../../lib/desired/problem.ts';
import type { EventRecorder } from '../../lib/kube/events.ts';
import type { Logger } from '../../lib/run/logger.ts';
import { apiVersionOf, bgpNodeStates } from '../../lib/kube/resources.ts';
import type { SubnetProblem } from '../plan/subnet-problem.ts';
import type { PodProblem } from '../plan/underlay/stranded.ts';
import type { NodeFacts, PodFacts } from '../state/facts.ts';
import type { LearnedFacts } from '../state/learned.ts';

export interface ObjectEventsOptions {
  readonly events: Pick<EventRecorder, 'record'>;
  readonly log: Logger;
  /** undefined where there is no such Subnet any more. */
  readonly uidOfSubnet: (name: string) => string | undefined;
}

export class ObjectEvents {
  readonly #options: ObjectEventsOptions;
  /** Messages told of the node's BgpNodeState that still hold. */
  #toldLearned: ReadonlySet<string> = new Set();
  /** What subnets were told and still holds. */
  #told: ReadonlySet<string> = new Set();
  /** What pods were told and still holds. */
  #toldPods: ReadonlySet<string> = new Set();

  constructor(options: ObjectEventsOptions) {
    this.#options = options;
  }

  /** To be called after each round, with all problems there are. */
  tellSubnets(problems: readonly SubnetProblem[]): void {
    const now = new Map(problems.map((problem) => [`${problem.subnet} ${problem.code} ${problem.message}`, problem]));
    for (const [key, { subnet, code, message }] of now) {
      const uid = this.#options.uidOfSubnet(subnet);
      if (this.#told.has(key) || uid === undefined) continue;
      this.#options.log.warn({ subnet, reason: code }, message);
      this.#options.events.record(
        { apiVersion: 'kubeovn.io/v1', kind: 'Subnet', name: subnet, uid },
        'Warning',
        code,
        message,
      );
    }
    this.#told = new Set(now.keys());
  }

  /** What of the prefixes learned by BGP this node does not route; undefined where the node has no speaker. */
  tellLearned(state: Pick<LearnedFacts, 'name' | 'uid'> | undefined, problems: readonly Problem[]): void {
    const now = state === undefined ? [] : problems;
    const subject = { apiVersion: apiVersionOf(bgpNodeStates), kind: bgpNodeStates.kind, name: '', uid: '', ...state };
    for (const { code, message } of now) {
      if (this.#toldLearned.has(message)) continue;
      this.#options.log.warn({ reason: code }, message);
      const { apiVersion, kind, name, uid } = subject;
      this.#options.events.record({ apiVersion, kind, name, uid }, 'Warning', code, message);
    }
    this.#toldLearned = new Set(now.map(({ message }) => message));
  }

  tellNode({ name, uid }: Pick<NodeFacts, 'name' | 'uid'>, { code, message }: Problem): void {
    this.#options.log.warn({ reason: code }, message);
    this.#options.events.record({ apiVersion: 'v1', kind: 'Node', name, uid }, 'Warning', code, message);
  }

  /** To be called after each change, with all problems of that kind that there are. */
  tellPods(problems: readonly PodProblem[]): void {
    const now = new Map(problems.map((one) => [`${one.pod.uid} ${one.problem.message}`, one]));
    for (const [key, { pod, problem }] of now) if (!this.#toldPods.has(key)) this.tellPod(pod, problem);
    this.#toldPods = new Set(now.keys());
  }

  tellPod({ namespace, name, uid }: PodFacts, { code, message }: Problem): void {
    this.#options.log.warn({ pod: `${namespace}/${name}`, reason: code }, message);
    this.#options.events.record({ apiVersion: 'v1', kind: 'Pod', namespace, name, uid }, 'Warning', code, message);
  }
}
