/**
 * Applies the annotations of pods to existing ports: mirroring and netem queues, whenever the annotations change. An option that is not
 * possible on this node becomes a problem of the pod.
 */
import type { Problem } from '../../lib/desired/problem.ts';
import type { Reflector, ReflectorChange } from '../../lib/kube/types.ts';
import type { SandboxPorts } from './sandbox-ports.ts';
import { portOptionsOf, type PortOptions } from '../plan/sandbox.ts';
import type { Pod } from '../model/pod.ts';
import type { Sandbox } from '../model/sandbox.ts';
import type { Sandboxes } from '../state/sandboxes.ts';

export interface PortAnnotationsOptions {
  readonly pods: Pick<Reflector<Pod>, 'get' | 'entries' | 'subscribe'>;
  readonly sandboxes: Sandboxes;
  readonly ports: Pick<SandboxPorts, 'change'>;
  readonly hasMirror: boolean;
  /** Whether the kernel has the netem queue on that interface. */
  readonly hasNetem: (hostInterface: string) => Promise<boolean>;
  readonly onProblem: (pod: Pod, problem: Problem) => void;
}

/** Open vSwitch makes a queue within a fraction of this time after the database has it. */
const queueDelayMs = 3000;

export class PortAnnotations {
  readonly #options: PortAnnotationsOptions;
  readonly #timers = new Set<NodeJS.Timeout>();
  readonly #stop: () => void;

  constructor(options: PortAnnotationsOptions) {
    this.#options = options;
    for (const [, pod] of options.pods.entries()) this.#report(pod, []);
    this.#stop = options.pods.subscribe((change) => this.#changed(change));
  }

  /** The options that the annotations request now; ADD reads them when it creates the port. */
  optionsOf(sandbox: Sandbox): PortOptions {
    const pod = this.#options.pods.get(`${sandbox.podNamespace}/${sandbox.podName}`);
    const options = portOptionsOf(pod, sandbox);
    if (pod !== undefined && hasQueue(options)) this.#checkQueue(pod, sandbox);
    return options;
  }

  close(): void {
    this.#stop();
    for (const timer of this.#timers) clearTimeout(timer);
  }

  /** A pod that is gone keeps its port until the runtime sends DEL. */
  #changed({ before, after }: ReflectorChange<Pod>): void {
    if (after === undefined) return;
    this.#report(after, before?.uid === after.uid ? this.#problemsOf(before) : []);
    for (const sandbox of this.#options.sandboxes.ofPod(after.namespace, after.name)) {
      if (sandbox.podUid !== after.uid) continue;
      const [was, is] = [portOptionsOf(before, sandbox), portOptionsOf(after, sandbox)];
      if (JSON.stringify(was) === JSON.stringify(is)) continue;
      this.#options.ports.change(sandbox, is);
      if (hasQueue(is)) this.#checkQueue(after, sandbox);
    }
  }

  #report(pod: Pod, reported: readonly Problem[]): void {
    for (const problem of this.#problemsOf(pod)) {
      if (!reported.some(({ message }) => message === problem.message)) this.#options.onProblem(pod, problem);
    }
  }

  #problemsOf(pod: Pod): readonly Problem[] {
    const wantsMirror = [...pod.interfaces.values()].some(({ isMirrored }) => isMirrored);
    if (this.#options.hasMirror || !wantsMirror) return pod.problems;
    const message = 'annotation mirror has no effect: the daemon of this node runs with an empty --mirror-interface';
    return [...pod.problems, { code: 'MirrorOff', message }];
  }

  /** If the kernel lacks the queue, Open vSwitch only writes that to its log. */
  #checkQueue(pod: Pod, { hostInterface }: Sandbox): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      void this.#options.hasNetem(hostInterface).then((hasIt) => {
        if (hasIt) return;
        const message = `annotations latency, jitter, limit and loss have no effect: Open vSwitch could not put a netem queue on ${hostInterface}; load the kernel module sch_netem on this node`;
        this.#options.onProblem(pod, { code: 'QosNotApplied', message });
      });
    }, queueDelayMs);
    this.#timers.add(timer);
  }
}

function hasQueue({ netem }: PortOptions): boolean {
  return Object.keys(netem).length > 0;
}
