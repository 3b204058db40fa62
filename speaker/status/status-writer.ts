// Writes statuses. In: planned statuses. Out: server-side applies of those that differ. Every speaker applies the entry of its own node with its own
// field manager, and the summary with a field manager that all speakers share, so speakers never undo each other's writes. Times are set here, and
// only when a state changes: after a restart, nothing is written to objects that already match.
import { isDeepStrictEqual } from 'node:util';
import type { Condition } from '../../lib/api/kinds/shared.ts';
import { setCondition } from '../../lib/api/conditions.ts';
import { apiVersionOf, bgpAdvertisements, bgpInstances, bgpPeers, routePolicies } from '../../lib/kube/resources.ts';
import type { KubeClient, Resource } from '../../lib/kube/types.ts';
import type { ObjectWriter } from '../../lib/kube/writer.ts';
import type { PlannedStatus } from '../plan/planned.ts';
import type { StatusPlan } from '../plan/status.ts';
import type { BgpAdvertisement } from '../../lib/bgp/objects.ts';
import type { SpeakerState } from '../model/objects.ts';
import type { SpeakerEvents } from './events.ts';

interface Entry {
  readonly node: string;
  readonly reason?: string;
  readonly message?: string;
}

interface StatusObject {
  readonly name: string;
  readonly uid: string;
  readonly generation: number;
  readonly status: { readonly conditions?: readonly Condition[] | undefined; readonly nodes?: readonly Entry[] };
}

export interface StatusWriterOptions {
  readonly client: KubeClient;
  readonly writer: Pick<ObjectWriter, 'enqueue'>;
  readonly events: SpeakerEvents;
  readonly node: string;
  /** RFC 3339. */
  readonly now: () => string;
}

const none: readonly Condition[] = [];
const summaryManager = 'isthmus-speaker';

export class StatusWriter {
  readonly #options: StatusWriterOptions;
  /** The text last sent by key, and the object that it was sent for: until the object changes, the same text is not sent again. */
  readonly #sent = new Map<string, { readonly object: StatusObject; readonly text: string }>();
  /** Last written entries of this node, which the watch may not show yet. */
  readonly #written = new Map<string, Entry>();

  constructor(options: StatusWriterOptions) {
    this.#options = options;
  }

  /** Sends the differences between the objects and their planned statuses. */
  write(state: SpeakerState, planned: StatusPlan): void {
    for (const [name, status] of planned.instances)
      this.#writeObject(bgpInstances, state.instances.get(name), status, {});
    for (const [name, status] of planned.peers) {
      const peer = state.peers.get(name);
      this.#writeObject(bgpPeers, peer, status, { established: peer?.status.established });
    }
    for (const [name, status] of planned.advertisements) {
      const advertisement = state.advertisements.get(name);
      this.#writeObject(bgpAdvertisements, advertisement, status, summaryOf(advertisement));
    }
    for (const [name, status] of planned.policies) {
      const policy = state.policies.get(name);
      if (!policy) continue;
      const { inForce } = policy.status;
      this.#writeObject(routePolicies, policy, status, { ...(inForce !== undefined && { inForce }) });
    }
  }

  #writeObject(
    resource: Resource,
    object: StatusObject | undefined,
    planned: PlannedStatus<Entry, object>,
    summary: object,
  ): void {
    // Objects made from flags do not exist in Kubernetes.
    if (!object || object.uid === '') return;
    this.#writeEntry(resource, object, planned.entry);
    this.#writeSummary(resource, object, planned, summary);
    for (const node of planned.leftOver) this.#removeEntry(resource, object, node);
  }

  #writeEntry(resource: Resource, object: StatusObject, planned: Entry | undefined): void {
    const { node, events } = this.#options;
    const key = `${resource.kind}/${object.uid}`;
    const shown = object.status.nodes?.find((entry) => entry.node === node);
    const before = this.#written.get(key) ?? shown;
    const entry = planned && resource === bgpPeers ? this.#withSince(planned, before) : planned;
    if (entry) this.#written.set(key, entry);
    else this.#written.delete(key);
    if (JSON.stringify(sorted(entry)) !== JSON.stringify(sorted(before)))
      events.onEntry(resource, object, before, entry);
    if (JSON.stringify(sorted(entry)) === JSON.stringify(sorted(shown))) return;
    this.#apply(resource, object, 'entry', `${summaryManager}-${node}`, entry ? { nodes: [entry] } : {});
  }

  #withSince(entry: Entry, before: Entry | undefined): Entry {
    const known = before as { state?: string; since?: string } | undefined;
    const isSame = known?.since !== undefined && known.state === (entry as { state?: string }).state;
    return { ...entry, since: isSame ? known.since : this.#options.now() } as Entry;
  }

  #writeSummary(
    resource: Resource,
    object: StatusObject,
    planned: PlannedStatus<Entry, object>,
    summary: object,
  ): void {
    const now = this.#options.now();
    const before = object.status.conditions ?? none;
    let conditions = before;
    for (const condition of planned.conditions) {
      conditions = setCondition(conditions, { ...condition, observedGeneration: object.generation }, now);
    }
    const isSame = conditions === before && isDeepStrictEqual(summary, planned.summary);
    if (isSame) return;
    const ours = conditions.filter(({ type }) => planned.conditions.some((condition) => condition.type === type));
    // A change of times alone is not written.
    const text = JSON.stringify([planned.conditions, planned.summary, object.generation]);
    if (this.#apply(resource, object, 'summary', summaryManager, { ...planned.summary, conditions: ours }, text)) {
      this.#options.events.onConditions(resource, object, planned.conditions);
    }
  }

  /** Removes the entry of a deleted node, which has no owner any more; the JSON patch test fails if the entry has moved meanwhile. */
  #removeEntry(resource: Resource, object: StatusObject, node: string): void {
    const at = object.status.nodes?.findIndex((entry) => entry.node === node) ?? -1;
    if (at < 0) return;
    const path = `/status/nodes/${at}`;
    const patch = [
      { op: 'test', path: `${path}/node`, value: node },
      { op: 'remove', path },
    ];
    this.#send(resource, object, 'leftover', JSON.stringify(patch), () =>
      this.#options.client.patch(resource, object, 'json', patch, { subresource: 'status' }),
    );
  }

  #apply(
    resource: Resource,
    object: StatusObject,
    part: string,
    fieldManager: string,
    status: object,
    text = JSON.stringify(status),
  ): boolean {
    const body = {
      apiVersion: apiVersionOf(resource),
      kind: resource.kind,
      metadata: { name: object.name, uid: object.uid },
      status,
    };
    return this.#send(resource, object, part, text, () =>
      this.#options.client.patch(resource, object, 'apply', body, { subresource: 'status', fieldManager }),
    );
  }

  #send(resource: Resource, object: StatusObject, part: string, text: string, write: () => Promise<unknown>): boolean {
    const key = `${resource.kind}/${object.name}/${part}`;
    const last = this.#sent.get(key);
    if (last?.object === object && last.text === text) return false;
    this.#sent.set(key, { object, text });
    void this.#options.writer.enqueue(key, write).then((outcome) => {
      // Refused because the object changed or was deleted meanwhile; its next change triggers another plan.
      if (outcome instanceof Error) this.#sent.delete(key);
    });
    return true;
  }
}

function summaryOf(advertisement: BgpAdvertisement | undefined): object {
  const { conditions: _, ...summary } = advertisement?.status ?? { conditions: [] };
  return summary;
}

function sorted(entry: Entry | undefined): unknown {
  return entry && Object.entries(entry).toSorted(([a], [b]) => (a < b ? -1 : 1));
}
