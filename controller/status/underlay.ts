/** What ProviderNetworks and Vlans are told: the finalizer while somebody needs them, status, conditions and events. */
import { controllerFinalizer } from '../../lib/api/names.ts';
import { apiVersionOf, providerNetworks, vlans } from '../../lib/kube/resources.ts';
import type { Resource } from '../../lib/kube/types.ts';
import {
  isNeeded,
  planProviderNetworkConditions,
  planProviderNetworkStatus,
} from '../plan/underlay/provider-network.ts';
import { planVlanConditions, planVlanStatus, subnetsIn } from '../plan/underlay/vlan.ts';
import type { ApiObjectFacts } from '../model/objects.ts';
import { mergeConditions } from './conditions.ts';
import type { Desk } from './desk.ts';
import { RateLimiter } from './rate-limiter.ts';
import { forget, othersOf, writeStatus } from './write-status.ts';

/** What passes by itself, and is told by the condition alone. */
const quiet: ReadonlySet<string | undefined> = new Set(['Pending', 'Deleting', 'DryRun']);

export class UnderlayObjects {
  readonly #desk: Desk;
  readonly #pace: RateLimiter;

  constructor(desk: Desk) {
    this.#desk = desk;
    this.#pace = new RateLimiter(desk.nowMs);
  }

  close(): void {
    this.#pace.close();
  }

  publishVlan(name: string): void {
    const { view } = this.#desk;
    const object = view.vlans.get(name);
    if (object === undefined) return forget(this.#desk, vlans, name, this.#pace);
    if (this.#publishFinalizers(vlans, object, subnetsIn(view, name).length > 0)) return;
    const conditions = planVlanConditions(view, object);
    const tell = (): void =>
      this.#tell(
        vlans,
        object,
        conditions.find(({ type }) => type === 'Ready'),
      );
    writeStatus(this.#desk, {
      resource: vlans,
      object,
      status: planVlanStatus(view, name),
      conditions,
      pace: { of: this.#pace, again: () => this.publishVlan(name) },
      tell,
    });
  }

  publishProviderNetwork(name: string): void {
    const { view, nowMs } = this.#desk;
    const object = view.providerNetworks.get(name);
    if (object === undefined) return forget(this.#desk, providerNetworks, name, this.#pace);
    if (this.#publishFinalizers(providerNetworks, object, isNeeded(view, name))) return;
    const conditions = planProviderNetworkConditions(view, object);
    const tell = (): void =>
      this.#tell(
        providerNetworks,
        object,
        conditions.find(({ node }) => node === ''),
      );
    writeStatus(this.#desk, {
      resource: providerNetworks,
      object,
      status: planProviderNetworkStatus(view, object),
      conditions,
      merged: mergeConditions(object.conditions, conditions, nowMs()),
      // Each node of many turns a condition.
      pace: { of: this.#pace, again: () => this.publishProviderNetwork(name), isForAll: true },
      tell,
    });
  }

  /** Whether it was written; the status of what is about to be written would be out of date at once. */
  #publishFinalizers(resource: Resource, object: ApiObjectFacts, isNeeded: boolean): boolean {
    const { client, told } = this.#desk;
    const { name, uid, resourceVersion, isDeleting } = object;
    const others = othersOf(object.finalizers);
    // None can be added to what is being deleted.
    const isKept = isNeeded && (!isDeleting || object.finalizers.includes(controllerFinalizer));
    const finalizers = isKept ? [...others, controllerFinalizer] : others;
    if (finalizers.toSorted().join() === object.finalizers.toSorted().join()) return false;
    // With the version that was seen: the list is replaced as a whole.
    const patch = { metadata: { uid, resourceVersion, finalizers } };
    const write = (): ReturnType<typeof client.patch> => client.patch(resource, { name }, 'merge', patch);
    told.write(`${resource.kind}/${name}`, resourceVersion, patch, write);
    return true;
  }

  /** An event for what the status has just begun to say. */
  #tell(
    resource: Resource,
    { name, uid, conditions }: ApiObjectFacts,
    is:
      | { readonly status: string; readonly reason?: string | undefined; readonly message?: string | undefined }
      | undefined,
  ): void {
    const was = conditions.find((one) => one.type === 'Ready' && nodeOf(one) === '');
    if (is === undefined || (was?.status === is.status && was.message === is.message)) return;
    const subject = { apiVersion: apiVersionOf(resource), kind: resource.kind, name, uid };
    const { events } = this.#desk;
    if (is.status === 'True' && was?.status === 'False')
      events.record(subject, 'Normal', `${resource.kind}Ready`, is.message || `${resource.kind} ${name} is in force`);
    if (is.status === 'False' && !quiet.has(is.reason))
      events.record(subject, 'Warning', `${resource.kind}NotReady`, `${is.reason}: ${is.message}`);
  }
}

function nodeOf(condition: object): string {
  return 'node' in condition && typeof condition.node === 'string' ? condition.node : '';
}
