/**
 * The pod runtime of one cluster: scheduler, kubelet and container runtime in one, as far as the network can tell. In:
 * pods and nodes of the API; out: sandboxes, pod statuses, events. Works by pod key; a failed sandbox is removed
 * completely and recreated with another container id, as kubelet does.
 */
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { KubeApiError } from '../../../lib/kube/errors.ts';
import { reflect } from '../../../lib/kube/reflector.ts';
import { nodes, objectPath, pods } from '../../../lib/kube/resources.ts';
import type { KubeClient, Reflector } from '../../../lib/kube/types.ts';
import type { Logger } from '../../../lib/run/logger.ts';
import { CriError } from '../cri/client.ts';
import type { SandboxConfig } from '../cri/messages.ts';
import { type ClusterLayout, type Lab, type NodeLayout, podNetns } from '../layout.ts';
import { runsContainerd } from '../containerd.ts';
import { ContainerdPods } from './containerd-pods.ts';
import { chooseNode, type Node, parseNode, parsePod, type Pod, runningStatus } from './pod.ts';
import { KeyedQueue } from './queue.ts';
import { compareSandboxes } from './relist.ts';
import {
  addressesOf,
  createSandbox,
  ensureListener,
  forgetSandbox,
  planSandbox,
  readSandboxes,
  recordSandbox,
  removeSandbox,
  type Sandbox,
} from './sandbox.ts';

const relistMs = 1000;
type Metadata = SandboxConfig['metadata'];

export interface RuntimeOptions {
  readonly lab: Lab;
  readonly cluster: ClusterLayout;
  readonly kube: KubeClient;
  readonly log: Logger;
}

export class PodRuntime {
  readonly #lab: Lab;
  readonly #cluster: ClusterLayout;
  readonly #kube: KubeClient;
  readonly #log: Logger;
  readonly #pods: Reflector<Pod>;
  readonly #nodes: Reflector<Node>;
  readonly #sandboxes: Map<string, Sandbox>;
  readonly #queue: KeyedQueue;
  /** Bindings that the mirror does not contain yet, so that a burst is spread over the nodes. */
  readonly #bound = new Map<string, string>();
  readonly #eventCounts = new Map<string, number>();
  /** The nodes that have a containerd, by name. */
  readonly #containerd: ReadonlyMap<string, ContainerdPods>;
  /** Sandboxes whose process has ended, by container id. */
  readonly #ended = new Set<string>();

  constructor({ lab, cluster, kube, log }: RuntimeOptions) {
    this.#lab = lab;
    this.#cluster = cluster;
    this.#kube = kube;
    this.#log = log;
    this.#sandboxes = readSandboxes(cluster);
    this.#containerd = new Map(
      cluster.nodes.filter(runsContainerd).map((node) => [node.name, new ContainerdPods(lab, cluster, node)]),
    );
    this.#pods = reflect({ client: kube, resource: pods, parse: parsePod });
    this.#nodes = reflect({ client: kube, resource: nodes, parse: parseNode });
    this.#queue = new KeyedQueue({
      run: (key) => this.#reconcile(key),
      onFailure: (key, error) =>
        this.#log.warn(
          {
            pod: key,
            err: error,
          },
          'will be tried again',
        ),
      parallel: 16,
      firstPauseMs: 500,
      longestPauseMs: 5e3,
    });
  }

  /** Resumes with the sandboxes that exist and follows the API from then on, until aborted. */
  async start(signal: AbortSignal): Promise<void> {
    // Nothing may run before the pods are known: a sandbox without a pod is removed.
    await Promise.all([this.#pods.synced, this.#nodes.synced]);
    this.#pods.subscribe(({ key }) => this.#queue.add(key));
    this.#nodes.subscribe(() => this.#retryUnscheduled());
    for (const key of new Set([...this.#sandboxes.keys(), ...[...this.#pods.entries()].map(([podKey]) => podKey)]))
      this.#queue.add(key);
    this.#log.info({ sandboxes: this.#sandboxes.size, pods: this.#pods.size }, 'following pods');
    await Promise.all([...this.#containerd].map(([node, pods]) => this.#relist(node, pods, signal)));
  }

  /** Detects changes made without labd, as kubelet does: lists all sandboxes of the runtime every second. */
  async #relist(node: string, containerd: ContainerdPods, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const known = [...this.#sandboxes.values()].filter((one) => one.node === node && one.result !== undefined);
      try {
        const listed = await containerd.list();
        const { ended, orphans } = compareSandboxes(known, listed, (uid) => this.#knows(uid));
        for (const sandbox of ended) this.#sawEnd(sandbox);
        for (const { metadata } of orphans) await this.#removeOrphan(containerd, node, metadata);
      } catch (error) {
        if (!(error instanceof CriError)) throw error;
        this.#log.debug({ node, err: error }, 'containerd could not do it, will be tried again');
      }
      // Only the abort ends the pause early, and it ends the loop.
      await delay(relistMs, undefined, { signal }).catch(() => undefined);
    }
  }

  #knows(uid: string): boolean {
    return (
      [...this.#sandboxes.values()].some((sandbox) => sandbox.uid === uid) ||
      [...this.#pods.entries()].some(([, pod]) => pod.uid === uid)
    );
  }

  #sawEnd(sandbox: Sandbox): void {
    const key = `${sandbox.namespace}/${sandbox.pod}`;
    if (this.#sandboxes.get(key) !== sandbox || this.#ended.has(sandbox.containerId)) return;
    this.#log.warn({ pod: key, sandbox: sandbox.containerId }, 'sandbox ended by itself, will be made anew');
    this.#ended.add(sandbox.containerId);
    this.#queue.add(key);
  }

  /** A sandbox that was being created when a labd died may be unknown to every labd. */
  async #removeOrphan(containerd: ContainerdPods, node: string, { namespace, name, uid }: Metadata): Promise<void> {
    const netns = podNetns(this.#lab, this.#cluster.name, namespace, name);
    const orphan = { namespace, pod: name, uid, node, netns, containerId: '' };
    await containerd.remove(orphan);
    const key = `${namespace}/${name}`;
    this.#log.info({ pod: key, uid }, 'sandbox of a pod that is gone removed');
    // Another pod with this name uses the names now.
    if (!this.#sandboxes.has(key)) await forgetSandbox(this.#cluster, orphan);
  }

  #retryUnscheduled(): void {
    for (const [key, pod] of this.#pods.entries()) if (pod.node === undefined) this.#queue.add(key);
  }

  async #reconcile(key: string): Promise<void> {
    const pod = this.#pods.get(key);
    const sandbox = this.#sandboxes.get(key);
    if (sandbox && !this.#isWanted(sandbox, pod)) await this.#remove(key, sandbox);
    if (pod === undefined) {
      this.#bound.delete(key);
      return;
    }
    if (pod.isDeleting) return this.#finishDeletion(pod);
    if (pod.isFinished) return;
    if (pod.node === undefined) return this.#schedule(key, pod);
    this.#bound.delete(key);
    const node = this.#nodeOf(pod.node);
    if (node) await this.#runOn(key, pod, node);
  }

  #nodeOf(name: string): NodeLayout | undefined {
    return this.#cluster.nodes.find((node) => node.name === name);
  }

  async #runOn(key: string, pod: Pod, node: NodeLayout): Promise<void> {
    if (pod.isHostNetwork) return this.#report(pod, [node.address], node);
    const sandbox = this.#sandboxes.get(key) ?? (await this.#create(key, pod, node));
    if (!this.#containerd.has(node.name)) await ensureListener(this.#cluster, sandbox);
    await this.#report(pod, addressesOf(sandbox), node);
  }

  async #create(key: string, pod: Pod, node: NodeLayout): Promise<Sandbox> {
    try {
      const planned = planSandbox(this.#lab, this.#cluster, pod, node.name);
      this.#sandboxes.set(key, planned);
      const started = performance.now();
      const containerd = this.#containerd.get(node.name);
      const sandbox = await (containerd ? containerd.create(pod, planned) : createSandbox(node, planned));
      recordSandbox(this.#cluster, sandbox);
      this.#sandboxes.set(key, sandbox);
      this.#log.info({ pod: key, node: node.name, ms: Math.round(performance.now() - started) }, 'sandbox created');
      return sandbox;
    } catch (error) {
      await this.#recordFailure(pod, error);
      const planned = this.#sandboxes.get(key);
      if (planned) await this.#remove(key, planned);
      throw error;
    }
  }

  async #remove(key: string, sandbox: Sandbox): Promise<void> {
    const containerd = this.#containerd.get(sandbox.node);
    if (containerd) await containerd.remove(sandbox);
    else await removeSandbox(this.#cluster, this.#nodeOf(sandbox.node), sandbox);
    await forgetSandbox(this.#cluster, sandbox);
    if (this.#pods.get(key)?.uid !== sandbox.uid) containerd?.forget(sandbox.uid);
    this.#ended.delete(sandbox.containerId);
    this.#sandboxes.delete(key);
    this.#log.info({ pod: key }, 'sandbox removed');
  }

  async #schedule(key: string, pod: Pod): Promise<void> {
    const podsOn = new Map<string, number>();
    for (const [otherKey, other] of this.#pods.entries()) {
      const node = other.node ?? this.#bound.get(otherKey);
      if (node !== undefined && !other.isFinished) podsOn.set(node, (podsOn.get(node) ?? 0) + 1);
    }
    const node = chooseNode(
      pod,
      [...this.#nodes.entries()].map(([, value]) => value).filter(({ name }) => this.#nodeOf(name)),
      podsOn,
    );
    if (node === undefined)
      return this.#event(pod, 'FailedScheduling', 'no node of the lab is Ready and matches the node selector');
    this.#bound.set(key, node);
    await this.#unlessGone(`${objectPath(pods, pod)}/binding`, 'POST', {
      apiVersion: 'v1',
      kind: 'Binding',
      metadata: {
        name: pod.name,
        uid: pod.uid,
      },
      target: {
        apiVersion: 'v1',
        kind: 'Node',
        name: node,
      },
    });
  }

  async #report(pod: Pod, addresses: readonly string[], node: NodeLayout): Promise<void> {
    if (pod.isRunning && pod.address === addresses[0]) return;
    const body = {
      metadata: { uid: pod.uid },
      status: runningStatus(pod, addresses, node.address, new Date().toISOString()),
    };
    await this.#unlessGone(`${objectPath(pods, pod)}/status`, 'PATCH', body, 'application/merge-patch+json');
  }

  async #finishDeletion(pod: Pod): Promise<void> {
    if (pod.isReleased) return;
    const body = { apiVersion: 'v1', kind: 'DeleteOptions', gracePeriodSeconds: 0, preconditions: { uid: pod.uid } };
    await this.#unlessGone(objectPath(pods, pod), 'DELETE', body);
  }

  async #recordFailure(pod: Pod, error: unknown): Promise<void> {
    await this.#event(
      pod,
      'FailedCreatePodSandBox',
      `Failed to create pod sandbox: ${error instanceof Error ? error.message : String(error)}`,
    );
  }

  /** The same message again is counted on the same Event. */
  async #event(pod: Pod, reason: string, message: string): Promise<void> {
    const id = createHash('sha256').update(`${pod.uid} ${reason} ${message}`).digest('hex').slice(0, 16);
    const count = (this.#eventCounts.get(id) ?? 0) + 1;
    this.#eventCounts.set(id, count);
    const name = `${pod.name}.${id}`;
    const path = `/api/v1/namespaces/${pod.namespace}/events/${name}?fieldManager=lab&force=true`;
    const involvedObject = { apiVersion: 'v1', kind: 'Pod', namespace: pod.namespace, name: pod.name, uid: pod.uid };
    const body = {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name, namespace: pod.namespace },
      involvedObject,
      reason,
      type: 'Warning',
      count,
    };
    await this.#unlessGone(
      path,
      'PATCH',
      {
        ...body,
        message: message.slice(0, 1000),
        source: { component: 'lab' },
        lastTimestamp: new Date().toISOString(),
      },
      'application/apply-patch+yaml',
    );
  }

  /** Writes to an object that may have been deleted or recreated meanwhile; its deletion arrives as a change. */
  async #unlessGone(path: string, method: string, body: object, contentType?: string): Promise<void> {
    try {
      await this.#kube.request(method, path, body, contentType === undefined ? {} : { contentType });
    } catch (error) {
      const isGone =
        error instanceof KubeApiError && (error.status === 404 || error.status === 409 || error.status === 403);
      if (!isGone) throw error;
      this.#log.debug({ path, err: error }, 'object is gone or has changed');
    }
  }

  #isWanted(sandbox: Sandbox, pod: Pod | undefined): boolean {
    if (pod === undefined || pod.uid !== sandbox.uid || pod.isDeleting || pod.isFinished) return false;
    if (this.#ended.has(sandbox.containerId)) return false;
    // Without a result, an ADD was interrupted: its leftovers are removed before the next ADD.
    return sandbox.result !== undefined && existsSync(`/run/netns/${sandbox.netns}`);
  }
}
