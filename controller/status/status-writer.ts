/**
 * The one writer to Kubernetes. In: keys whose plans changed, or whose rows were written or refused. Out: for each report of the
 * key, a write of exactly what differs from the observed object, and events of what is new. Called by `apply/` after
 * each result of the database. Rule: a start against a cluster that agrees writes nothing.
 */
import type { Problem } from '../../lib/desired/problem.ts';
import { apiVersionOf } from '../../lib/kube/resources.ts';
import type { EventRecorder } from '../../lib/kube/events.ts';
import type { KubeClient } from '../../lib/kube/types.ts';
import { reportKey, statusKeyOf } from '../plan/plan.ts';
import type { AppliedRows, ObjectRef, ObjectReport, StatusReport, WantedEvent } from '../plan/report.ts';
import type { View } from '../model/view.ts';
import { kinds } from '../watch/kinds.ts';
import { metadataDifference, objectDifference, statusDifference } from './differences.ts';
import { keyOfObject, nameOfObject, observe, subjectOf } from './observed.ts';
import type { Observed } from './observed.ts';
import type { PendingWrites } from './pending-writes.ts';
import { RateLimiter } from './rate-limiter.ts';

export interface StatusWriterOptions {
  readonly view: View;
  readonly client: KubeClient;
  readonly pending: Pick<PendingWrites, 'write' | 'forget'>;
  readonly events: Pick<EventRecorder, 'record'>;
  readonly rows: AppliedRows;
  /** Database errors of the key and of all keys whose outcome its status includes. */
  readonly refusals: (key: string) => ReadonlyMap<string, Problem>;
  readonly nowMs: () => number;
}

function statusKey(object: ObjectRef): string {
  return `${keyOfObject(object)}/status`;
}

export class StatusWriter {
  readonly #options: StatusWriterOptions;
  readonly #limiter: RateLimiter;
  /** Events of the last reports, by key. */
  readonly #recorded = new Map<string, ReadonlySet<string>>();

  constructor(options: StatusWriterOptions) {
    this.#options = options;
    this.#limiter = new RateLimiter(options.nowMs);
  }

  close(): void {
    this.#limiter.close();
  }

  /** Writes what Kubernetes should hold about the key, and about the key whose status includes it. */
  publish(key: string): void {
    this.#publish(key);
    const statusOf = statusKeyOf(key);
    if (statusOf !== key) this.#publish(statusOf);
  }

  #publish(key: string): void {
    const { view, rows, refusals } = this.#options;
    const reports = reportKey(view, key, { rows, refusals: refusals(key) });
    this.#recordNew(key, reports);
    for (const report of reports) this.#write(key, report);
  }

  #write(key: string, report: ObjectReport): void {
    const { object, presence, status } = report;
    const observed = observe(this.#options.view, object);
    if (observed === undefined) {
      if (presence === 'required') this.#create(report);
      else this.#forget(object);
    } else if (presence === 'forbidden') this.#delete(object, observed);
    else if (status?.storage === 'metadata') this.#patchAtOnce(report, status, observed);
    // The next version of the object is published again: until then its status would be out of date at once.
    else if (!this.#patchObject(report, observed) && status !== undefined)
      this.#patchStatus(key, object, status, observed);
  }

  #create({ object, labels = {}, annotations = {}, spec, initialSpec }: ObjectReport): void {
    const { client, pending } = this.#options;
    const { resource } = kinds[object.kind];
    const metadata = {
      ...nameOfObject(object),
      ...given({ labels: present(labels), annotations: present(annotations) }),
    };
    const body = {
      apiVersion: apiVersionOf(resource),
      kind: resource.kind,
      metadata,
      spec: { ...spec, ...initialSpec },
    };
    const create = (): ReturnType<typeof client.create> => client.create(resource, body, { answer: 'metadata' });
    pending.write(keyOfObject(object), undefined, body, create);
  }

  #delete(object: ObjectRef, { uid, resourceVersion }: Observed): void {
    const { client, pending } = this.#options;
    pending.write(keyOfObject(object), resourceVersion, { delete: uid }, () =>
      client.delete(kinds[object.kind].resource, nameOfObject(object), { uid }),
    );
  }

  /** Whether the object is being written. */
  #patchObject(report: ObjectReport, observed: Observed): boolean {
    const patch = objectDifference(report, observed);
    if (patch === undefined) return false;
    const { client, pending } = this.#options;
    const { object, corrections = [] } = report;
    const { uid, resourceVersion } = observed;
    // Lists are replaced as a whole, and a user's edit of the spec must not be undone: both only in the observed version.
    const isExact = patch.metadata.finalizers !== undefined || patch.spec !== undefined;
    const content = { ...patch, metadata: { uid, ...patch.metadata } };
    const body = isExact ? { ...content, metadata: { ...content.metadata, resourceVersion } } : content;
    const write = (): ReturnType<typeof client.patch> =>
      client.patch(kinds[object.kind].resource, nameOfObject(object), 'merge', body);
    pending.write(keyOfObject(object), resourceVersion, content, write, () => this.#recordAll(object, corrections));
    return true;
  }

  /** Annotations and conditions in one write. The list of conditions is shared with other programs, and merged by type. */
  #patchAtOnce(report: ObjectReport, { conditions: wanted }: StatusReport, observed: Observed): void {
    const { client, pending, nowMs } = this.#options;
    const { object } = report;
    const { uid, resourceVersion, conditions: before = [] } = observed;
    const difference = metadataDifference(report, observed);
    const conditions = wanted.filter(
      ({ type, status, reason, message }) =>
        !before.some(
          (one) => one.type === type && one.status === status && one.reason === reason && one.message === message,
        ),
    );
    if (difference === undefined && conditions.length === 0) return;
    const metadata = { uid, ...difference };
    pending.write(keyOfObject(object), resourceVersion, { metadata, conditions }, () => {
      const lastTransitionTime = new Date(nowMs()).toISOString();
      const timed = conditions.map((one) => {
        const isTransition = before.every(({ type, status }) => type !== one.type || status !== one.status);
        return isTransition ? { ...one, lastTransitionTime } : one;
      });
      const body = { metadata, ...(timed.length > 0 && { status: { conditions: timed } }) };
      const options = { subresource: 'status', answer: 'metadata' } as const;
      return client.patch(kinds[object.kind].resource, nameOfObject(object), 'strategic', body, options);
    });
  }

  #patchStatus(key: string, object: ObjectRef, report: StatusReport, observed: Observed): void {
    const { client, pending, nowMs } = this.#options;
    const { rateLimit, storage, isShared, absentConditions, events = [] } = report;
    const { uid, resourceVersion } = observed;
    const difference = statusDifference(report, observed, nowMs());
    if (difference === undefined) return;
    const { fields, conditions } = difference;
    const writeKey = statusKey(object);
    const isLimited = rateLimit === 'all' || (rateLimit === 'counts' && conditions === undefined);
    if (isLimited && this.#limiter.isTooEarly(writeKey, () => this.publish(key))) return;
    if (rateLimit !== undefined) this.#limiter.written(writeKey);
    const status = { ...Object.fromEntries(fields), ...(conditions && { conditions }) };
    const options = storage === 'object' ? {} : ({ subresource: 'status' } as const);
    const metadata = isShared === true ? { uid, resourceVersion } : { uid };
    const write = (): ReturnType<typeof client.patch> =>
      client.patch(kinds[object.kind].resource, nameOfObject(object), 'merge', { metadata, status }, options);
    // Without times, which differ at every comparison.
    const content = { uid, fields, conditions: report.conditions, absentConditions };
    pending.write(writeKey, resourceVersion, content, write, () => this.#recordAll(object, events));
  }

  #forget(object: ObjectRef): void {
    const { pending } = this.#options;
    pending.forget(keyOfObject(object));
    pending.forget(statusKey(object));
    this.#limiter.forget(statusKey(object));
  }

  #recordAll(object: ObjectRef, events: readonly WantedEvent[]): void {
    for (const event of events) {
      const uid = observe(this.#options.view, event.about ?? object)?.uid;
      if (uid !== undefined) this.#record(event.about ?? object, uid, event);
    }
  }

  /** Records the events that the last reports of the key did not have. */
  #recordNew(key: string, reports: readonly ObjectReport[]): void {
    const before = this.#recorded.get(key);
    const marks = new Set<string>();
    for (const { object, events = [] } of reports)
      for (const event of events) {
        const about = event.about ?? object;
        const uid = observe(this.#options.view, about)?.uid;
        if (uid === undefined) continue;
        const mark = `${uid} ${event.reason} ${event.message}`;
        marks.add(mark);
        if (before?.has(mark) !== true && event.isKnown !== true) this.#record(about, uid, event);
      }
    if (marks.size > 0) this.#recorded.set(key, marks);
    else if (before !== undefined) this.#recorded.delete(key);
  }

  #record(about: ObjectRef, uid: string, { type, reason, message }: WantedEvent): void {
    this.#options.events.record(subjectOf(about, uid), type, reason, message);
  }
}

/** Without the entries that are to be absent. */
function present(entries: Readonly<Record<string, string | null>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(entries).flatMap(([key, value]) => (value === null ? [] : [[key, value]])));
}

/** Without empty records. */
function given(records: Readonly<Record<string, object>>): Readonly<Record<string, object>> {
  return Object.fromEntries(Object.entries(records).filter(([, record]) => Object.keys(record).length > 0));
}
