/** What pods and nodes are told of their addresses: annotations, an IP object, or an event why there is none. */
import { annotation } from '../../lib/api/names.ts';
import { addressCondition } from '../../lib/api/pod-addresses.ts';
import type { PodCondition } from '../../lib/api/pod-addresses.ts';
import type { Problem } from '../../lib/desired/problem.ts';
import type { EventSubject } from '../../lib/kube/events.ts';
import { apiVersionOf, ips, nodes, pods } from '../../lib/kube/resources.ts';
import { planIps } from '../plan/address/ip-object.ts';
import { portAddresses } from '../plan/address/texts.ts';
import { planNodeAnnotations } from '../plan/node/node.ts';
import { nodeProblems } from '../plan/node/problems.ts';
import { planPodAnnotations, planPodCondition, planProblemNote } from '../plan/pod/pod-annotations.ts';
import { portProblems } from '../plan/pod/port-problems.ts';
import { differing } from './desk.ts';
import type { Desk } from './desk.ts';
import { clearIp, writeIp } from './ip-object.ts';

function isSame(planned: PodCondition, there: PodCondition | undefined): boolean {
  const { status, reason, message } = planned;
  return there?.status === status && there.reason === reason && there.message === message;
}

export class PortOwners {
  readonly #desk: Desk;
  /** The problems told last, by key. */
  readonly #problems = new Map<string, ReadonlySet<string>>();

  constructor(desk: Desk) {
    this.#desk = desk;
  }

  publishPod(name: string): void {
    const { view, client, told, nowMs } = this.#desk;
    const key = `pod/${name}`;
    const pod = view.pods.get(name);
    if (pod === undefined) {
      told.forget(`Pod/${name}`);
      this.#problems.delete(key);
      this.#publishIps(key);
      return;
    }
    const { namespace, uid, resourceVersion } = pod;
    const note = planProblemNote(view, name);
    // Who has the note has had the event.
    this.#tell(
      key,
      { apiVersion: 'v1', kind: 'Pod', namespace, name: pod.name, uid },
      pod.annotations[annotation.problem],
    );
    const allocated = this.#isApplied(key) ? planPodAnnotations(view, name) : undefined;
    const annotations = differing({ ...allocated, ...note }, pod.annotations);
    const planned = planPodCondition(view, name, { annotations: allocated, refused: this.#desk.refused(key) });
    const condition = planned === undefined || isSame(planned, pod.told) ? undefined : planned;
    if (annotations !== undefined || condition !== undefined) {
      const metadata = { uid, ...(annotations && { annotations }) };
      // One write for both: what the status vouches for is there with it.
      told.write(`Pod/${name}`, resourceVersion, { metadata, condition }, () => {
        const isTransition = condition?.status !== pod.told?.status;
        const time = isTransition ? { lastTransitionTime: new Date(nowMs()).toISOString() } : {};
        const conditions = [{ type: addressCondition, ...condition, ...time }];
        const patch = { metadata, ...(condition && { status: { conditions } }) };
        const options = { subresource: 'status', answer: 'metadata' } as const;
        return client.patch(pods, { namespace, name: pod.name }, 'strategic', patch, options);
      });
    }
    this.#publishIps(key);
  }

  publishNode(name: string): void {
    const { view, client, told } = this.#desk;
    const key = `node/${name}`;
    const node = view.nodes.get(name);
    if (node === undefined) {
      told.forget(`Node/${name}`);
      this.#problems.delete(key);
      this.#publishIps(key);
      return;
    }
    const { uid, resourceVersion } = node;
    this.#tell(key, { apiVersion: 'v1', kind: 'Node', name, uid });
    const wanted = planNodeAnnotations(view, name);
    if (wanted === undefined || !this.#isApplied(key)) return;
    const annotations = differing(wanted, node.annotations);
    if (annotations !== undefined) {
      const patch = { metadata: { uid, annotations } };
      told.write(`Node/${name}`, resourceVersion, patch, () => client.patch(nodes, { name }, 'merge', patch));
    }
    this.#publishIps(key);
  }

  /** An IP object that sets an address aside says why it cannot. */
  publishIp(name: string): void {
    const [key, ip] = [`ip/${name}`, this.#desk.view.ips.get(name)];
    if (ip === undefined) this.#problems.delete(key);
    else this.#tell(key, { apiVersion: apiVersionOf(ips), kind: ips.kind, name, uid: ip.uid });
    clearIp(this.#desk, name);
  }

  /** IP objects of the ports the object has; those of ports it lost go by the port's own key. */
  #publishIps(key: string): void {
    const { view, database } = this.#desk;
    // Of an object that is gone only the addresses are kept: without the IP object a restart would forget whose they are.
    const isGone = key.startsWith('pod/') && !view.pods.has(key.slice('pod/'.length));
    const held = new Map(view.ports(key).map(({ port, allocation }) => [port, portAddresses(allocation)]));
    for (const ip of planIps(view, key)) {
      if (isGone || database.hasPort(ip.name, held.get(ip.name))) writeIp(this.#desk, ip);
    }
  }

  #isApplied(key: string): boolean {
    const { view, database } = this.#desk;
    return view.ports(key).every(({ port, allocation }) => database.hasPort(port, portAddresses(allocation)));
  }

  /** An event for each problem that comes or changes; the owner of the port may also have been refused by the database. */
  #tell(key: string, subject: EventSubject, note?: string): void {
    const { events } = this.#desk;
    const before = this.#problems.get(key);
    const told = new Set<string>();
    for (const [reason, { code, message }] of this.#problemsOf(key)) {
      const text = `${code}: ${message}`;
      const mark = `${subject.uid} ${text}`;
      told.add(mark);
      if (before?.has(mark) !== true && text !== note) events.record(subject, 'Warning', reason, text);
    }
    if (told.size === 0) this.#problems.delete(key);
    else this.#problems.set(key, told);
  }

  /** By the reason of the event that tells it. */
  #problemsOf(key: string): readonly (readonly [string, Problem])[] {
    const { view, refused } = this.#desk;
    const [address, database] = [view.addressProblem(key), refused(key)];
    const own = key.startsWith('pod/') ? portProblems(view, key.slice('pod/'.length)) : [];
    const ofNode = key.startsWith('node/') ? nodeProblems(view, key.slice('node/'.length)) : [];
    return [
      ...(address === undefined ? [] : [['AcquireAddressFailed', address] as const]),
      ...(address === undefined && database !== undefined ? [['CreateOVNPortFailed', database] as const] : []),
      ...own.map((problem) => ['ValidatePodNetworkFailed', problem] as const),
      ...ofNode.map((problem) => ['ValidateNodeNetworkFailed', problem] as const),
    ];
  }
}
