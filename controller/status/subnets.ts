/** What Subnets are told: defaults in the spec, the finalizer, counts, conditions and events. */
import { annotation, controllerFinalizer } from '../../lib/api/names.ts';
import type { Condition } from '../../lib/api/kinds/shared.ts';
import { setCondition } from '../../lib/kube/conditions.ts';
import { apiVersionOf, subnets } from '../../lib/kube/resources.ts';
import { renderAcceptedNote } from '../plan/subnet/accepted-note.ts';
import { planSubnetConditions } from '../plan/conditions.ts';
import type { Verdict } from '../plan/subnet/judge.ts';
import { planSubnetUsage } from '../plan/subnet/subnet-status.ts';
import { servedNet } from '../plan/subnet/subnet.ts';
import type { Subnet } from '../state/objects.ts';
import { differing } from './desk.ts';
import type { Desk } from './desk.ts';

/** Counts alone are written no more often: a burst of pods must not spend its writes on them. */
const usageIntervalMs = 500;

/** Where `verdict` would have the spec otherwise than it is. */
function specPatchOf(subnet: Subnet, { spec: wanted }: Verdict): Readonly<Record<string, unknown>> | undefined {
  if (wanted === undefined) return undefined;
  const { default: isDefault, excludeIps, ...texts } = wanted;
  const patch: Record<string, unknown> = { ...differing(texts, { ...subnet.spec }) };
  if ((subnet.spec.isDefault ?? false) !== isDefault) patch['default'] = isDefault;
  if (subnet.spec.excludeIps.join() !== excludeIps.join()) patch['excludeIps'] = excludeIps;
  return Object.keys(patch).length === 0 ? undefined : patch;
}

export class Subnets {
  readonly #desk: Desk;
  readonly #usageWrittenMs = new Map<string, number>();
  readonly #later = new Map<string, NodeJS.Timeout>();

  constructor(desk: Desk) {
    this.#desk = desk;
  }

  close(): void {
    for (const timer of this.#later.values()) clearTimeout(timer);
  }

  publish(name: string): void {
    const { view, told } = this.#desk;
    const subnet = view.subnets.get(name);
    const verdict = view.verdicts.get(name);
    if (subnet === undefined) {
      told.forget(`Subnet/${name}`);
      told.forget(`Subnet/${name}/status`);
      this.#usageWrittenMs.delete(name);
    }
    if (subnet === undefined || verdict === undefined) return;
    // The status of what is about to be written would be out of date at once.
    if (subnet.isDeleting ? this.#letGo(subnet) : this.#writeObject(subnet, verdict)) return;
    this.#writeStatus(subnet, verdict);
  }

  /** Removes the finalizer once nothing is left. */
  #letGo(subnet: Subnet): boolean {
    const { view, database } = this.#desk;
    const { name, finalizers } = subnet;
    if (servedNet(view, name) !== undefined || database.hasSwitch(name) || !finalizers.includes(controllerFinalizer))
      return false;
    this.#patch(subnet, { finalizers: finalizers.filter((one) => one !== controllerFinalizer) }, undefined);
    return true;
  }

  #writeObject(subnet: Subnet, verdict: Verdict): boolean {
    const { finalizers } = subnet;
    const note = verdict.net === undefined ? null : renderAcceptedNote(verdict.net);
    const metadata: Record<string, unknown> = {};
    if (note !== (subnet.acceptedNote ?? null)) metadata['annotations'] = { [annotation.accepted]: note };
    if (verdict.net !== undefined && !finalizers.includes(controllerFinalizer))
      metadata['finalizers'] = [...finalizers, controllerFinalizer];
    const spec = specPatchOf(subnet, verdict);
    if (spec === undefined && Object.keys(metadata).length === 0) return false;
    this.#patch(subnet, metadata, spec);
    return true;
  }

  /** With the version that was seen: lists are replaced as a whole, and an edit of a user's must not be undone. */
  #patch({ name, resourceVersion }: Subnet, metadata: object, spec: object | undefined): void {
    const { client, told } = this.#desk;
    const patch = { metadata: { ...metadata, resourceVersion }, ...(spec && { spec }) };
    told.write(`Subnet/${name}`, resourceVersion, { metadata, spec }, () =>
      client.patch(subnets, { name }, 'merge', patch),
    );
  }

  #writeStatus(subnet: Subnet, verdict: Verdict): void {
    const { view, client, told, database, refused, nowMs } = this.#desk;
    const { name, uid, resourceVersion } = subnet;
    const obstacle = refused(`subnet/${name}`);
    // Ready is said of rows that are there.
    if (servedNet(view, name) !== undefined && obstacle === undefined && !database.hasSwitch(name)) return;
    const usage = differing(planSubnetUsage(view, name), subnet.status);
    const conditions = this.#conditionsOf(subnet);
    if (usage === undefined && conditions === subnet.conditions) return;
    if (conditions === subnet.conditions && this.#isTooEarly(name)) return;
    this.#usageWrittenMs.set(name, nowMs());
    const status = { ...usage, ...(conditions === subnet.conditions ? {} : { conditions }) };
    // Without times, which differ at every look.
    const content = { usage, conditions: planSubnetConditions(view, name, obstacle) };
    const write = (): ReturnType<typeof client.patch> =>
      client.patch(subnets, { name }, 'merge', { metadata: { uid }, status }, { subresource: 'status' });
    told.write(`Subnet/${name}/status`, resourceVersion, content, write, () => this.#tell(subnet, verdict));
  }

  #conditionsOf(subnet: Subnet): readonly Condition[] {
    const { view, refused, nowMs } = this.#desk;
    const now = new Date(nowMs()).toISOString();
    let conditions: readonly Condition[] = subnet.conditions;
    for (const wanted of planSubnetConditions(view, subnet.name, refused(`subnet/${subnet.name}`))) {
      conditions = setCondition(conditions, wanted, now);
    }
    return conditions;
  }

  #isTooEarly(name: string): boolean {
    const waitMs = (this.#usageWrittenMs.get(name) ?? 0) + usageIntervalMs - this.#desk.nowMs();
    if (waitMs <= 0) return false;
    if (!this.#later.has(name)) {
      const timer = setTimeout(() => {
        this.#later.delete(name);
        this.publish(name);
      }, waitMs);
      this.#later.set(name, timer);
    }
    return true;
  }

  /** An event for what the status has just begun to say. */
  #tell(subnet: Subnet, { problem }: Verdict): void {
    const before = subnet.conditions.find(({ type }) => type === 'Validated');
    const { name, uid } = subnet;
    const subject = { apiVersion: apiVersionOf(subnets), kind: subnets.kind, name, uid };
    if (problem !== undefined && (before?.status !== 'False' || before.message !== problem.message)) {
      this.#desk.events.record(
        subject,
        'Warning',
        'ValidateLogicalSwitchFailed',
        `${problem.code}: ${problem.message}`,
      );
    }
    if (problem === undefined && before?.status === 'False') {
      this.#desk.events.record(subject, 'Normal', 'ValidateLogicalSwitchSuccess', `subnet ${name} is in force`);
    }
  }
}
