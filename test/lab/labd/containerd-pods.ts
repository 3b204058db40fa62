/**
 * The pods of a node that has a containerd: made and taken away through its CRI, as kubelet does. The network namespace that
 * containerd made gets the lab's name for the pod as a second name, so that `ip netns exec` finds every pod alike.
 */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { containerdSocket } from '../containerd.ts';
import { CriClient } from '../cri/client.ts';
import type { Sandbox as ListedSandbox } from '../cri/messages.ts';
import type { ClusterLayout, Lab, NodeLayout } from '../layout.ts';
import { cgroupParent } from '../cgroups.ts';
import { run } from '../run.ts';
import type { Pod } from './pod.ts';
import { containerConfigs, labelsOf, sandboxConfig } from './sandbox-config.ts';
import type { Sandbox } from './sandbox.ts';

export class ContainerdPods {
  readonly #lab: Lab;
  readonly #cluster: ClusterLayout;
  readonly #node: NodeLayout;
  readonly #cri: CriClient;
  /** The next attempt of a pod's sandbox, by the pod's uid: the runtime takes each but once. */
  readonly #attempts = new Map<string, number>();

  constructor(lab: Lab, cluster: ClusterLayout, node: NodeLayout) {
    this.#lab = lab;
    this.#cluster = cluster;
    this.#node = node;
    this.#cri = new CriClient({ socket: containerdSocket(node) });
  }

  /** Makes the sandbox and its containers. @throws CriError as the runtime answers; the sandbox has to be removed then. */
  async create(pod: Pod, planned: Sandbox): Promise<Sandbox> {
    const attempt = this.#attempts.get(pod.uid) ?? (await this.#firstAttempt(planned));
    this.#attempts.set(pod.uid, attempt + 1);
    const config = sandboxConfig(pod, {
      attempt,
      cgroupParent: cgroupParent(this.#lab.name, this.#node),
      logDirectory: this.#logsOf(planned),
      serviceCidr: this.#cluster.serviceCidr,
    });
    const id = await this.#cri.runPodSandbox(config);
    const details = await this.#cri.podSandboxStatus(id);
    await run(['ip', 'netns', 'attach', planned.netns, String(details.pid)]);
    for (const container of containerConfigs(pod)) await this.#cri.runContainer(id, container, config);
    return { ...planned, containerId: id, result: { ips: details.addresses.map((address) => ({ address })) } };
  }

  /** Stops and removes all sandboxes of the pod. @throws CriError while the runtime or a plugin cannot; to be tried again. */
  async remove(sandbox: Sandbox): Promise<void> {
    for (const { id } of await this.#sandboxesOf(sandbox)) {
      await this.#cri.stopPodSandbox(id);
      await this.#cri.removePodSandbox(id);
    }
    rmSync(this.#logsOf(sandbox), { recursive: true, force: true });
  }

  /** No sandbox of this pod will be wanted any more. */
  forget(uid: string): void {
    this.#attempts.delete(uid);
  }

  /** All sandboxes of the node. @throws CriError */
  list(): Promise<ListedSandbox[]> {
    return this.#cri.listPodSandbox();
  }

  /** One more than the last attempt of earlier labd processes. */
  async #firstAttempt(planned: Sandbox): Promise<number> {
    const attempts = (await this.#sandboxesOf(planned)).map(({ metadata }) => metadata.attempt);
    return Math.max(-1, ...attempts) + 1;
  }

  #sandboxesOf({ namespace, pod, uid }: Sandbox): Promise<ListedSandbox[]> {
    return this.#cri.listPodSandbox(labelsOf({ namespace, name: pod, uid }));
  }

  #logsOf({ namespace, pod }: Sandbox): string {
    return join(this.#cluster.dir, 'pods', `${namespace}.${pod}.logs`);
  }
}
