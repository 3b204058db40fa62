/** What pods and nodes are told of their addresses: annotations, an IP object, or an event why there is none. */
import type { EventSubject } from '../../lib/kube/events.ts';
import { nodes, pods } from '../../lib/kube/resources.ts';
import { planIps } from '../plan/address/ip-object.ts';
import { portAddresses } from '../plan/address/texts.ts';
import { planNodeAnnotations } from '../plan/node/node.ts';
import { planPodAnnotations } from '../plan/pod/pod.ts';
import { clearIp, writeIp } from './ip-object.ts';
import { differing } from './desk.ts';
import type { Desk } from './desk.ts';

export class PortOwners {
  readonly #desk: Desk;
  /** The last problem told, by key. */
  readonly #problems = new Map<string, string>();
  /** Ports an object had when it was last told, by key. */
  readonly #ports = new Map<string, readonly string[]>();

  constructor(desk: Desk) {
    this.#desk = desk;
  }

  publishPod(name: string): void {
    const { view, client, told } = this.#desk;
    const key = `pod/${name}`;
    const pod = view.pods.get(name);
    if (pod === undefined) {
      told.forget(`Pod/${name}`);
      this.#problems.delete(key);
      this.#publishIps(key);
      return;
    }
    const { namespace, uid, resourceVersion } = pod;
    this.#tell(key, { apiVersion: 'v1', kind: 'Pod', namespace, name: pod.name, uid });
    const wanted = planPodAnnotations(view, name);
    const annotations = wanted && this.#isApplied(key) ? differing(wanted, pod.annotations) : undefined;
    if (annotations !== undefined) {
      const patch = { metadata: { uid, annotations } };
      told.write(`Pod/${name}`, resourceVersion, patch, () =>
        client.patch(pods, { namespace, name: pod.name }, 'merge', patch),
      );
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

  /** IP objects of the ports the object has, and of those it had until now. */
  #publishIps(key: string): void {
    const { view, database } = this.#desk;
    const before = this.#ports.get(key) ?? [];
    const held = view.ports(key).map(({ port }) => port);
    if (held.length === 0) this.#ports.delete(key);
    else this.#ports.set(key, held);
    for (const port of before) if (!held.includes(port)) clearIp(this.#desk, port);
    // Of an object that is gone only the addresses are kept.
    const isGone = key.startsWith('pod/') && !view.pods.has(key.slice('pod/'.length));
    for (const ip of planIps(view, key)) {
      const held = view.ports(key).find(({ port }) => port === ip.name);
      if (held === undefined) continue;
      if (isGone ? view.ips.has(ip.name) : database.hasPort(ip.name, portAddresses(held.allocation)))
        writeIp(this.#desk, ip);
    }
  }

  #isApplied(key: string): boolean {
    const { view, database } = this.#desk;
    return view.ports(key).every(({ port, allocation }) => database.hasPort(port, portAddresses(allocation)));
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
