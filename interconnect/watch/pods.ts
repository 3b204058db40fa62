/**
 * Pods, with the addresses that the controller allocated to them. In: Pods and IP objects, watched as soon as another cluster asks for any. Out: values by
 * `namespace/name`. Authors of pods write annotations, and kubelets the status, but only the controller writes IP objects: they are what vouches for an address.
 */
import { fieldsOf, textOf } from '../../lib/kube/fields.ts';
import { reflect } from '../../lib/kube/reflector.ts';
import { ips, pods } from '../../lib/kube/resources.ts';
import type { KubeClient, RawObject, Reflector } from '../../lib/kube/types.ts';
import { formatIp, parseIp } from '../../lib/net/ip.ts';
import type { Logger } from '../../lib/run/logger.ts';
import type { PodAddress, SharedPod } from '../model/pod-sets.ts';

export interface PodsWatchOptions {
  readonly client: KubeClient;
  readonly signal: AbortSignal;
  readonly log: Logger;
  /** The pod is another one now; undefined if it is gone. */
  readonly onPod: (key: string, pod: SharedPod | undefined) => void;
  /** All pods are known. */
  readonly onSynced: () => void;
}

interface Labelled {
  readonly namespace: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly isServed: boolean;
}

interface Held {
  readonly pod: string;
  readonly addresses: readonly PodAddress[];
}

export class PodsWatch {
  readonly #options: PodsWatchOptions;
  #pods: Reflector<Labelled> | undefined;
  #ips: Reflector<Held> | undefined;
  /** By pod: names of its IP objects. */
  readonly #ipsOf = new Map<string, Set<string>>();
  /** Both kinds are read. Before that each pod would be judged twice, once without its addresses. */
  #isRead = false;
  #isSynced = false;

  constructor(options: PodsWatchOptions) {
    this.#options = options;
  }

  get isSynced(): boolean {
    return this.#isSynced;
  }

  start(): void {
    if (this.#pods !== undefined) return;
    const { client, signal, log } = this.#options;
    this.#pods = reflect({ client, resource: pods, parse: parsePod, signal, log });
    this.#ips = reflect({ client, resource: ips, parse: parseIpObject, signal, log });
    this.#pods.subscribe(({ key }) => this.#changed(key));
    this.#ips.subscribe(({ key, before, after }) => {
      if (before !== undefined) this.#ipsOf.get(before.pod)?.delete(key);
      if (after !== undefined) this.#ipsOf.set(after.pod, (this.#ipsOf.get(after.pod) ?? new Set<string>()).add(key));
      for (const pod of new Set([before?.pod, after?.pod])) {
        if (pod === undefined) continue;
        if (this.#ipsOf.get(pod)?.size === 0) this.#ipsOf.delete(pod);
        this.#changed(pod);
      }
    });
    const synced = Promise.all([this.#pods.synced, this.#ips.synced]).then(() => {
      this.#isRead = true;
      for (const [key] of this.#pods?.entries() ?? []) this.#changed(key);
      this.#isSynced = true;
      this.#options.onSynced();
    });
    // It rejects if the watch is stopped before.
    synced.catch(() => undefined);
  }

  async stop(): Promise<void> {
    await Promise.all([this.#pods?.stop(), this.#ips?.stop()]);
  }

  #changed(key: string): void {
    if (!this.#isRead) return;
    const pod = this.#pods?.get(key);
    if (pod === undefined || !pod.isServed) return this.#options.onPod(key, undefined);
    const addresses = [...(this.#ipsOf.get(key) ?? [])].flatMap((name) => this.#ips?.get(name)?.addresses ?? []);
    const { namespace, labels } = pod;
    this.#options.onPod(key, addresses.length === 0 ? undefined : { namespace, labels, addresses });
  }
}

function parsePod(raw: RawObject): Labelled {
  const phase = textOf(fieldsOf(raw['status'])['phase']);
  const isFinished = phase === 'Succeeded' || phase === 'Failed';
  return {
    namespace: raw.metadata.namespace ?? '',
    labels: raw.metadata.labels ?? {},
    isServed: fieldsOf(raw['spec'])['hostNetwork'] !== true && !isFinished,
  };
}

function parseIpObject(raw: RawObject): Held {
  const { namespace, podName, subnet, v4IpAddress, v6IpAddress, ipAddress } = fieldsOf(raw['spec']);
  const texts = [textOf(v4IpAddress), textOf(v6IpAddress), ...textOf(ipAddress).split(',')];
  const addresses = texts.flatMap((text) => {
    const ip = parseIp(text);
    return ip === undefined ? [] : [formatIp(ip)];
  });
  return {
    pod: `${textOf(namespace)}/${textOf(podName)}`,
    addresses: [...new Set(addresses)].map((address) => ({ address, subnet: textOf(subnet) })),
  };
}
