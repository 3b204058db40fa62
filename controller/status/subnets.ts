/** What Subnets are told: defaults in the spec, the finalizer, counts, conditions and events. */
import { annotation, controllerFinalizer, formerFinalizers } from '../../lib/api/names.ts';
import type { Problem } from '../../lib/desired/problem.ts';
import { apiVersionOf, subnets } from '../../lib/kube/resources.ts';
import type { Subnet } from '../model/objects.ts';
import type { Verdict } from '../model/settled.ts';
import { planSubnetConditions } from '../plan/conditions.ts';
import type { WantedCondition } from '../plan/report.ts';
import { unservedNamespaceProblems } from '../plan/namespace/unserved.ts';
import { specCorrections } from '../plan/subnet/corrections.ts';
import { dhcpKey } from '../plan/subnet/dhcp.ts';
import { planSubnetStatus } from '../plan/subnet/subnet-status.ts';
import { acceptedNoteOf } from '../settle/subnet/former-gateways.ts';
import { servedNet } from '../settle/subnet/served-net.ts';
import { differing } from './desk.ts';
import type { Desk } from './desk.ts';
import { RateLimiter } from './rate-limiter.ts';
import { forget, othersOf, writeStatus } from './write-status.ts';

/** Features whose keys are the Subnet's name. */
const own = [
  'subnet',
  'acl',
  'dhcp',
  'mcast',
  'subnet-vips',
  'central-gateway',
  'switch-load-balancer',
  'route-table',
  'u2o',
];
/** Conditions whose change is an event, and the event's reason; the first that has something to say says it. */
const told = [
  ['Validated', 'ValidateLogicalSwitchFailed'],
  ['Ready', 'SubnetNotReady'],
] as const;

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
  readonly #pace: RateLimiter;

  constructor(desk: Desk) {
    this.#desk = desk;
    this.#pace = new RateLimiter(desk.nowMs);
  }

  close(): void {
    this.#pace.close();
  }

  publish(name: string): void {
    const { view } = this.#desk;
    const subnet = view.subnets.get(name);
    const verdict = view.verdicts.get(name);
    if (subnet === undefined) return forget(this.#desk, subnets, name, this.#pace);
    if (verdict === undefined) return;
    // The status of what is about to be written would be out of date at once.
    if (subnet.isDeleting ? this.#letGo(subnet) : this.#writeObject(subnet, verdict)) return;
    this.#writeStatus(subnet);
  }

  /** Removes the finalizers once nothing is left. */
  #letGo(subnet: Subnet): boolean {
    const { view, database } = this.#desk;
    const { name, finalizers } = subnet;
    const others = othersOf(finalizers);
    if (servedNet(view, name) !== undefined || database.hasSwitch(name) || others.length === finalizers.length)
      return false;
    this.#patch(subnet, { finalizers: others }, undefined);
    return true;
  }

  #writeObject(subnet: Subnet, verdict: Verdict): boolean {
    const { view, events } = this.#desk;
    const { finalizers, name, uid } = subnet;
    const note = acceptedNoteOf(view, name) ?? null;
    const metadata: Record<string, unknown> = {};
    if (note !== (subnet.acceptedNote ?? null)) metadata['annotations'] = { [annotation.accepted]: note };
    const hasFormer = finalizers.some((one) => formerFinalizers.includes(one));
    if (verdict.net !== undefined && (hasFormer || !finalizers.includes(controllerFinalizer)))
      metadata['finalizers'] = [...othersOf(finalizers), controllerFinalizer];
    const spec = specPatchOf(subnet, verdict);
    if (spec === undefined && Object.keys(metadata).length === 0) return false;
    const corrections = specCorrections(view, name);
    this.#patch(subnet, metadata, spec, () => {
      const subject = { apiVersion: apiVersionOf(subnets), kind: subnets.kind, name, uid };
      for (const sentence of corrections) events.record(subject, 'Warning', 'SpecCorrected', sentence);
    });
    return true;
  }

  /** With the version that was seen: lists are replaced as a whole, and an edit of a user's must not be undone. */
  #patch({ name, resourceVersion }: Subnet, metadata: object, spec: object | undefined, done?: () => void): void {
    const { client, told: written } = this.#desk;
    const patch = { metadata: { ...metadata, resourceVersion }, ...(spec && { spec }) };
    const write = (): ReturnType<typeof client.patch> => client.patch(subnets, { name }, 'merge', patch);
    written.write(`Subnet/${name}`, resourceVersion, { metadata, spec }, write, done);
  }

  #refused(name: string): Problem | undefined {
    for (const feature of own) {
      const problem = this.#desk.refused(`${feature}/${name}`);
      if (problem !== undefined) return problem;
    }
    return undefined;
  }

  #writeStatus(subnet: Subnet): void {
    const { view, database } = this.#desk;
    const { name } = subnet;
    const refused = this.#refused(name);
    // Ready is said of rows that are there.
    if (servedNet(view, name) !== undefined && refused === undefined && !database.hasSwitch(name)) return;
    const conditions = planSubnetConditions(view, name, refused);
    writeStatus(this.#desk, {
      resource: subnets,
      object: subnet,
      status: {
        ...planSubnetStatus(view, name),
        dhcpV4OptionsUUID: database.dhcpOptions(dhcpKey(name, 4)) ?? null,
        dhcpV6OptionsUUID: database.dhcpOptions(dhcpKey(name, 6)) ?? null,
      },
      conditions,
      pace: { of: this.#pace, again: () => this.publish(name) },
      tell: () => this.#tell(subnet, conditions),
    });
  }

  /** Who creates pods looks at the Namespace rather than at Subnets. */
  #tellNamespaces(name: string, now: string, before: string): void {
    const { events, view } = this.#desk;
    for (const { namespace, code, message } of unservedNamespaceProblems(view, name)) {
      const uid = view.namespaces.get(namespace)?.uid;
      if (uid === undefined || !now.includes(message) || before.includes(message)) continue;
      const subject = { apiVersion: 'v1', kind: 'Namespace', name: namespace, uid };
      events.record(subject, 'Warning', code, `subnet ${name}: ${message}`);
    }
  }

  /** Events for what the status has just begun to say. */
  #tell(subnet: Subnet, conditions: readonly WantedCondition[]): void {
    const { events } = this.#desk;
    const { name, uid } = subnet;
    const subject = { apiVersion: apiVersionOf(subnets), kind: subnets.kind, name, uid };
    for (const [type, failure] of told) {
      const is = conditions.find((one) => one.type === type);
      const was = subnet.conditions.find((one) => one.type === type);
      if (is === undefined || (was?.status === is.status && was.message === is.message)) continue;
      if (is.status === 'False' && is.reason !== 'Deleting') {
        this.#tellNamespaces(name, is.message ?? '', was?.message ?? '');
        events.record(subject, 'Warning', failure, `${is.reason}: ${is.message}`);
        return;
      }
      if (is.status === 'True' && is.reason === 'NoAddressToGive')
        events.record(subject, 'Warning', 'NoAddressToGive', is.message ?? '');
      if (type === 'Validated' && is.status === 'True' && was?.status === 'False')
        events.record(subject, 'Normal', 'ValidateLogicalSwitchSuccess', `subnet ${name} is in force`);
    }
  }
}
