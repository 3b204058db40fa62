/** What IPPools and Vips are told: counts or the address, conditions, and an event when one is refused. */
import { formerFinalizers } from '../../lib/api/names.ts';
import { apiVersionOf, ipPools, vips } from '../../lib/kube/resources.ts';
import type { Resource } from '../../lib/kube/types.ts';
import type { WantedCondition } from '../plan/conditions.ts';
import { planIpPoolConditions, planIpPoolUsage } from '../plan/address/ip-pool.ts';
import { planVipConditions, planVipStatus } from '../plan/address/vip-status.ts';
import type { ApiObjectFacts } from '../state/objects.ts';
import { mergeConditions } from './conditions.ts';
import type { Desk } from './desk.ts';
import { Pace } from './pace.ts';

interface Told {
  readonly resource: Resource;
  readonly object: ApiObjectFacts;
  readonly status: Readonly<Record<string, unknown>>;
  readonly conditions: readonly WantedCondition[];
  readonly failure: string;
  /** Whether the status is a resource of its own. */
  readonly isSubresource: boolean;
}

export class AddressObjects {
  readonly #desk: Desk;
  readonly #pace: Pace;

  constructor(desk: Desk) {
    this.#desk = desk;
    this.#pace = new Pace(desk.nowMs);
  }

  close(): void {
    this.#pace.close();
  }

  publishIpPool(name: string): void {
    const { view, refused } = this.#desk;
    const object = view.ipPools.get(name);
    if (object === undefined) {
      this.#forget(ipPools, name);
      return;
    }
    this.#publish({
      resource: ipPools,
      object,
      status: planIpPoolUsage(view, name),
      conditions: planIpPoolConditions(view, name, refused(`ip-pool/${name}`)),
      failure: 'ValidateIPPoolFailed',
      isSubresource: true,
    });
  }

  publishVip(name: string): void {
    const { view, refused } = this.#desk;
    const object = view.vips.get(name);
    if (object === undefined) {
      this.#forget(vips, name);
      return;
    }
    this.#publish({
      resource: vips,
      object,
      status: planVipStatus(view, name),
      conditions: planVipConditions(view, name, refused(`vip/${name}`)),
      failure: 'AcquireAddressFailed',
      isSubresource: false,
    });
  }

  #forget({ kind }: Resource, name: string): void {
    this.#desk.told.forget(`${kind}/${name}`);
    this.#pace.forget(`${kind}/${name}`);
  }

  #publish(wanted: Told): void {
    const { told, nowMs, client } = this.#desk;
    const { resource, object, status, conditions: wantedConditions, isSubresource } = wanted;
    const { name, uid, resourceVersion, finalizers } = object;
    const key = `${resource.kind}/${name}`;
    if (object.isDeleting) {
      const kept = finalizers.filter((one) => !formerFinalizers.includes(one));
      if (kept.length === finalizers.length) return;
      const patch = { metadata: { uid, resourceVersion, finalizers: kept } };
      told.write(key, resourceVersion, patch, () => client.patch(resource, { name }, 'merge', patch));
      return;
    }
    const entries = Object.entries(status).filter(
      ([field, value]) => JSON.stringify(object.status[field]) !== JSON.stringify(value),
    );
    const conditions = mergeConditions(object.conditions, wantedConditions, nowMs());
    if (entries.length === 0 && conditions === object.conditions) return;
    if (conditions === object.conditions && this.#pace.isTooEarly(key, () => this.#again(resource, name))) return;
    this.#pace.written(key);
    const changed = { ...Object.fromEntries(entries), ...(conditions === object.conditions ? {} : { conditions }) };
    const write = (): ReturnType<typeof client.patch> =>
      client.patch(
        resource,
        { name },
        'merge',
        { metadata: { uid }, status: changed },
        isSubresource ? { subresource: 'status' } : {},
      );
    // Without times, which differ at every look.
    const content = { entries, conditions: wantedConditions };
    told.write(key, resourceVersion, content, write, () => this.#tell(wanted));
  }

  #again({ kind }: Resource, name: string): void {
    if (kind === ipPools.kind) this.publishIpPool(name);
    else this.publishVip(name);
  }

  /** An event for what the status has just begun to say. */
  #tell({ resource, object, conditions, failure }: Told): void {
    const { name, uid } = object;
    const is = conditions.find(({ type }) => type === 'Validated');
    const was = object.conditions.find(({ type }) => type === 'Validated');
    if (is?.status !== 'False' || (was?.status === 'False' && was.message === is.message)) return;
    const subject = { apiVersion: apiVersionOf(resource), kind: resource.kind, name, uid };
    this.#desk.events.record(subject, 'Warning', failure, `${is.reason}: ${is.message}`);
  }
}
