/** What IPPools and Vips are told: counts or the address, conditions, and an event when one is refused. */
import { apiVersionOf, ipPools, vips } from '../../lib/kube/resources.ts';
import type { Resource } from '../../lib/kube/types.ts';
import type { WantedCondition } from '../plan/report.ts';
import { planIpPoolConditions, planIpPoolUsage } from '../plan/address/ip-pool.ts';
import { planVipConditions, planVipStatus } from '../plan/address/vip-status.ts';
import type { ApiObjectFacts } from '../model/objects.ts';
import type { Desk } from './desk.ts';
import { RateLimiter } from './rate-limiter.ts';
import { forget, releaseFormer, writeStatus } from './write-status.ts';

export class AddressObjects {
  readonly #desk: Desk;
  readonly #pace: RateLimiter;

  constructor(desk: Desk) {
    this.#desk = desk;
    this.#pace = new RateLimiter(desk.nowMs);
  }

  close(): void {
    this.#pace.close();
  }

  publishIpPool(name: string): void {
    const { view, refused } = this.#desk;
    const object = view.ipPools.get(name);
    if (object === undefined) return forget(this.#desk, ipPools, name, this.#pace);
    if (object.isDeleting) return releaseFormer(this.#desk, ipPools, object);
    const conditions = planIpPoolConditions(view, name, refused(`ip-pool/${name}`));
    writeStatus(this.#desk, {
      resource: ipPools,
      object,
      status: planIpPoolUsage(view, name),
      conditions,
      pace: { of: this.#pace, again: () => this.publishIpPool(name) },
      tell: () => this.#tell(ipPools, object, conditions, 'ValidateIPPoolFailed'),
    });
  }

  publishVip(name: string): void {
    const { view, refused } = this.#desk;
    const object = view.vips.get(name);
    if (object === undefined) return forget(this.#desk, vips, name, this.#pace);
    if (object.isDeleting) return releaseFormer(this.#desk, vips, object);
    const conditions = planVipConditions(view, name, refused(`vip/${name}`));
    writeStatus(this.#desk, {
      resource: vips,
      object,
      status: planVipStatus(view, name),
      conditions,
      isSubresource: false,
      pace: { of: this.#pace, again: () => this.publishVip(name) },
      tell: () => this.#tell(vips, object, conditions, 'AcquireAddressFailed'),
    });
  }

  /** An event for what the status has just begun to say. */
  #tell(
    resource: Resource,
    { name, uid, conditions: before }: ApiObjectFacts,
    conditions: readonly WantedCondition[],
    failure: string,
  ): void {
    const is = conditions.find(({ type }) => type === 'Validated');
    const was = before.find(({ type }) => type === 'Validated');
    if (is?.status !== 'False' || (was?.status === 'False' && was.message === is.message)) return;
    const subject = { apiVersion: apiVersionOf(resource), kind: resource.kind, name, uid };
    this.#desk.events.record(subject, 'Warning', failure, `${is.reason}: ${is.message}`);
  }
}
