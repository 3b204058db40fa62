/** What pods and nodes are told of their addresses: annotations, an IP object, or an event why there is none. */
import { nodePortName } from '../../lib/api/names.ts';
import type { EventSubject } from '../../lib/kube/events.ts';
import { nodes, pods } from '../../lib/kube/resources.ts';
import { planNodeIp, planPodIp } from '../plan/ip-object.ts';
import { planNodeAnnotations, portAddresses } from '../plan/node.ts';
import { planPodAnnotations } from '../plan/pod.ts';
import { clearIp, writeIp } from './ip-object.ts';
import { differing } from './desk.ts';
import type { Desk } from './desk.ts';

export class PortOwners {
  readonly #desk: Desk;
  /** The last problem told, by key. */
  readonly #problems = new Map<string, string>();

  constructor(desk: Desk) {
    this.#desk = desk;
  }

  publishPod(key: string, port: string): void {
    const { view, client, told } = this.#desk;
    const pod = view.pods.get(key);
    if (pod === undefined) {
      told.forget(`Pod/${key}`);
      this.#problems.delete(key);
      clearIp(this.#desk, port);
      return;
    }
    const { namespace, name, uid, resourceVersion } = pod;
    this.#tell(`pod/${key}`, { apiVersion: 'v1', kind: 'Pod', namespace, name, uid });
    const wanted = planPodAnnotations(view, key);
    const ip = planPodIp(view, key);
    if (wanted === undefined || ip === undefined || !this.#isApplied(port, uid)) {
      clearIp(this.#desk, port);
      return;
    }
    const annotations = differing(wanted, pod.annotations);
    if (annotations !== undefined) {
      const patch = { metadata: { uid, annotations } };
      told.write(`Pod/${key}`, resourceVersion, patch, () => client.patch(pods, { namespace, name }, 'merge', patch));
    }
    writeIp(this.#desk, ip);
  }

  publishNode(name: string): void {
    const { view, client, told } = this.#desk;
    const port = nodePortName(name);
    const node = view.nodes.get(name);
    if (node === undefined) {
      told.forget(`Node/${name}`);
      this.#problems.delete(`node/${name}`);
      clearIp(this.#desk, port);
      return;
    }
    const { uid, resourceVersion } = node;
    this.#tell(`node/${name}`, { apiVersion: 'v1', kind: 'Node', name, uid });
    const wanted = planNodeAnnotations(view, name);
    const ip = planNodeIp(view, name);
    if (wanted === undefined || ip === undefined || !this.#isApplied(port, uid)) return;
    const annotations = differing(wanted, node.annotations);
    if (annotations !== undefined) {
      const patch = { metadata: { uid, annotations } };
      told.write(`Node/${name}`, resourceVersion, patch, () => client.patch(nodes, { name }, 'merge', patch));
    }
    writeIp(this.#desk, ip);
  }

  #isApplied(port: string, uid: string): boolean {
    const { view, database } = this.#desk;
    const allocation = view.allocation(port, uid);
    return allocation !== undefined && database.hasPort(port, portAddresses(allocation));
  }

  /** An event when a problem comes or changes; the owner of the port may also have been refused by the database. */
  #tell(key: string, subject: EventSubject): void {
    const { view, events, refused } = this.#desk;
    const address = view.addressProblem(key);
    const problem = address ?? refused(key);
    if (problem === undefined) {
      this.#problems.delete(key);
      return;
    }
    const text = `${problem.code}: ${problem.message}`;
    if (this.#problems.get(key) === `${subject.uid} ${text}`) return;
    this.#problems.set(key, `${subject.uid} ${text}`);
    events.record(subject, 'Warning', address === undefined ? 'CreateOVNPortFailed' : 'AcquireAddressFailed', text);
  }
}
