/**
 * Writes the objects of exported and imported Services: the conditions of ServiceExports, ServiceImports and their EndpointSlices. In: the
 * settled exports and imports, and the objects that the watch brings. Out: writes, only where an object differs, so that a restart writes
 * nothing; an event for each condition that turns. Rule: a ServiceImport that the agent did not make is left alone.
 */
import {
  apiVersionOf,
  endpointSlices,
  serviceExports,
  serviceImports,
  services as serviceResource,
} from '../../lib/kube/resources.ts';
import type { Problem } from '../../lib/desired/problem.ts';
import { KubeApiError } from '../../lib/kube/errors.ts';
import type { EventRecorder } from '../../lib/kube/events.ts';
import type { KubeClient, Resource } from '../../lib/kube/types.ts';
import type { ObjectWriter } from '../../lib/kube/writer.ts';
import type { Condition } from '../../lib/api/kinds/shared.ts';
import type { Services } from '../apply/services.ts';
import type { Delivery, ExportExchange } from '../model/export-exchange.ts';
import {
  importOfSlice,
  keyOf,
  type ImportedSlice,
  type ServiceExportObject,
  type ServiceImportObject,
  type SliceBody,
} from '../model/service-objects.ts';
import { exportConditions, idleConditions, importBody, importStatus } from '../plan/services/objects.ts';
import { planImportSlices } from '../plan/services/slices.ts';
import type { MergedImport } from '../settle/services/merge.ts';
import type { OwnExport } from '../settle/services/valid-exports.ts';
import type { ImportState } from '../settle/services/imports.ts';
import { contradictionOf } from '../watch/export-sources.ts';
import type { Sources } from '../watch/sources.ts';
import { isSameJson } from './compare.ts';

export interface ServiceReporterOptions {
  readonly client: KubeClient;
  readonly writer: ObjectWriter;
  readonly events: Pick<EventRecorder, 'record'>;
  readonly sources: Pick<
    Sources,
    'serviceExports' | 'serviceImports' | 'importedSlices' | 'namespaces' | 'globalServices'
  >;
  readonly services: Pick<
    Services,
    | 'own'
    | 'imports'
    | 'clients'
    | 'areAnnotationsRead'
    | 'isComplete'
    | 'isHeld'
    | 'isReached'
    | 'endpointsOf'
    | 'takeNews'
  >;
  readonly exchange: Pick<ExportExchange, 'deliveryOf'>;
  /** Unix milliseconds. */
  readonly now: () => number;
  /** A write that was refused is due again. */
  readonly onDue: () => void;
}

/** After a refusal, such as by a missing CRD or role, the object is written again so late. */
const refusedMs = 30_000;

type Fields = Readonly<Record<string, unknown>>;

export class ServiceReporter {
  readonly #options: ServiceReporterOptions;
  readonly #dirty = new Set<string>();
  /** By object: what was sent and what the watch has not delivered yet. */
  readonly #sent = new Map<string, string>();
  /** By import: names of its EndpointSlices. */
  readonly #slices = new Map<string, Set<string>>();
  /** Imports whose ServiceImport is another program's, by uid: reported once. */
  readonly #strangers = new Map<string, string>();
  /** Objects whose write was refused, and when it is due again. */
  readonly #refused = new Map<string, number>();
  /** By Service: what events said of its annotations. */
  readonly #announced = new Map<string, readonly string[]>();
  readonly #deliveries = new Map<string, string>();
  #timer: NodeJS.Timeout | undefined;
  #wasMember: boolean | undefined;

  constructor(options: ServiceReporterOptions) {
    this.#options = options;
  }

  /** Call once the watches are in sync. */
  start(): void {
    const { sources, services } = this.#options;
    for (const [, slice] of sources.importedSlices.entries()) {
      this.#index(slice);
      this.#dirty.add(importOfSlice(slice));
    }
    for (const key of services.imports.keys()) this.#dirty.add(key);
    for (const [key] of sources.serviceExports.entries()) this.#dirty.add(key);
    for (const [key] of sources.serviceImports.entries()) this.#dirty.add(key);
    for (const [key, { mistakes, preferenceMistake }] of sources.globalServices.entries())
      if (mistakes.length > 0 || preferenceMistake !== undefined) this.#dirty.add(key);
  }

  /** The watch has brought a version of a ServiceExport or ServiceImport. */
  seen(kind: string, key: string): void {
    this.#sent.delete(`${kind}/${key}`);
    this.#sent.delete(`${kind}/${key}/status`);
    this.#dirty.add(key);
  }

  sliceSeen(before: ImportedSlice | undefined, after: ImportedSlice | undefined): void {
    const slice = after ?? before;
    if (slice === undefined) return;
    const key = importOfSlice(slice);
    this.#sent.delete(`${endpointSlices.kind}/${keyOf(slice)}`);
    this.#dirty.add(key);
    if (after === undefined) {
      const names = this.#slices.get(key);
      names?.delete(slice.name);
      if (names?.size === 0) this.#slices.delete(key);
    } else this.#index(after);
  }

  /** `isMember`: whether the settled state is that of a member; otherwise nothing is imported. */
  report(isMember: boolean): void {
    const { services } = this.#options;
    if (this.#wasMember !== undefined && this.#wasMember !== isMember) this.start();
    this.#wasMember = isMember;
    for (const key of services.takeNews()) this.#dirty.add(key);
    for (const key of services.own.keys()) {
      const text = JSON.stringify(this.#options.exchange.deliveryOf(key));
      if (this.#deliveries.get(key) === text) continue;
      this.#deliveries.set(key, text);
      this.#dirty.add(key);
    }
    const dirty = [...this.#dirty];
    this.#dirty.clear();
    for (const key of dirty) {
      if (services.own.get(key) === undefined) this.#deliveries.delete(key);
      this.#export(key, isMember);
      this.#annotations(key, isMember);
      this.#import(key, isMember);
    }
  }

  close(): void {
    clearTimeout(this.#timer);
  }

  #index(slice: ImportedSlice): void {
    const key = importOfSlice(slice);
    this.#slices.set(key, (this.#slices.get(key) ?? new Set<string>()).add(slice.name));
  }

  #export(key: string, isMember: boolean): void {
    const { sources, services, exchange, client } = this.#options;
    const object = sources.serviceExports.get(key);
    if (object === undefined || object.isDeleting) return;
    const own = services.own.get(key);
    if (isMember && own === undefined) return;
    const conditions = isMember
      ? exportConditions(
          { object, invalid: own?.invalid },
          services.imports.merged(key)?.conflict,
          keptDelivery(object, exchange.deliveryOf(key)),
          this.#nowIso(),
        )
      : idleConditions(object, this.#nowIso());
    if (isSameJson(conditions, object.conditions)) return;
    const path = { namespace: object.namespace, name: object.name };
    const body = { metadata: { uid: object.uid }, status: { conditions } };
    const isSent = this.#write(`${serviceExports.kind}/${key}/status`, withoutTimes(conditions), () =>
      client.patch(serviceExports, path, 'merge', body, { subresource: 'status' }),
    );
    if (isSent) this.#announce(object, conditions);
  }

  /** A Service has no conditions of its export: events say what is wrong, once for each cause. */
  #annotations(key: string, isMember: boolean): void {
    const { sources, services, exchange, events } = this.#options;
    const service = sources.globalServices.get(key);
    const own = services.own.get(key);
    const contradiction = contradictionOf(service, sources.serviceExports.get(key));
    const delivery = exchange.deliveryOf(key);
    const isMeant = isMember && service?.isDeleting === false;
    const invalid = (message: string): Problem => ({ code: 'AnnotationInvalid', message });
    const ofCilium: readonly Problem[] = !services.areAnnotationsRead
      ? []
      : [
          ...(service?.mistakes ?? []).map(invalid),
          ...(contradiction === undefined ? [] : [{ code: 'ExportContradicted', message: contradiction }]),
          ...(own?.object.isAlias === true ? aliasProblems(own, delivery, services.imports.merged(key)) : []),
        ];
    const mistake = service?.preferenceMistake;
    const problems = isMeant ? [...ofCilium, ...(mistake === undefined ? [] : [invalid(mistake)])] : [];
    const before = this.#announced.get(key) ?? [];
    if (problems.length === 0) this.#announced.delete(key);
    else
      this.#announced.set(
        key,
        problems.map(({ message }) => message),
      );
    if (service === undefined) return;
    for (const { code, message } of problems)
      if (!before.includes(message)) events.record(subjectOf(serviceResource, service), 'Warning', code, message);
  }

  #import(key: string, isMember: boolean): void {
    const { sources, services } = this.#options;
    if (isMember && services.isHeld(key)) return;
    const object = sources.serviceImports.get(key);
    const state = isMember ? services.imports.get(key) : undefined;
    if (object !== undefined && !object.isOurs) {
      this.#leaveAlone(object, state);
      this.#writeSlices(key, new Map());
      return;
    }
    this.#strangers.delete(key);
    if (state === undefined) {
      // An export of a member that is not known yet may be the reason why it is there.
      if (isMember && !services.isComplete) return;
      if (object !== undefined && !object.isDeleting) this.#delete(serviceImports, object);
      this.#writeSlices(key, new Map());
    } else if (object === undefined) this.#create(key, state);
    else if (!object.isDeleting) {
      this.#align(key, object, state);
      const isReached = (cluster: string, address: string): boolean => services.isReached(cluster, address);
      this.#writeSlices(
        key,
        planImportSlices({ state, exports: services.endpointsOf(key, state), owner: object.uid, isReached }),
        object,
      );
    }
  }

  #leaveAlone(object: ServiceImportObject, state: ImportState | undefined): void {
    const key = keyOf(object);
    if (state === undefined || this.#strangers.get(key) === object.uid) return;
    this.#strangers.set(key, object.uid);
    const message = `clusters export Service ${key}, and this ServiceImport was made by another program: Isthmus leaves it alone and imports nothing; delete it to have the Service imported`;
    this.#options.events.record(subjectOf(serviceImports, object), 'Warning', 'ImportedByAnother', message);
  }

  #create(key: string, state: ImportState): void {
    const { client } = this.#options;
    const { labels, annotations, spec } = importBody(state);
    const { namespace, name } = state.merged;
    const metadata = { namespace, name, labels, annotations };
    const body = { apiVersion: apiVersionOf(serviceImports), kind: serviceImports.kind, metadata, spec };
    this.#write(`${serviceImports.kind}/${key}`, JSON.stringify(body), () =>
      ignoring(409, client.create(serviceImports, body)),
    );
  }

  #align(key: string, object: ServiceImportObject, state: ImportState): void {
    const { client, services } = this.#options;
    const wanted = importBody(state);
    const path = { namespace: object.namespace, name: object.name };
    const present = { labels: object.labels, annotations: object.annotations, spec: object.spec };
    if (!isSameJson(present, wanted)) {
      const body = {
        metadata: {
          uid: object.uid,
          labels: withNulls(object.labels, wanted.labels),
          annotations: withNulls(object.annotations, wanted.annotations),
        },
        spec: withNulls(object.spec, wanted.spec),
      };
      this.#write(`${serviceImports.kind}/${key}`, JSON.stringify(body), () =>
        client.patch(serviceImports, path, 'merge', body),
      );
      // The status names the generation that this write makes.
      return;
    }
    const clients = services.clients ?? { obstacle: undefined, leftOut: [] };
    const status = importStatus(state, clients, object.status, object.generation, this.#nowIso());
    if (isSameJson(status, object.status)) return;
    const body = { metadata: { uid: object.uid }, status: withNulls(object.status, status) };
    const text = JSON.stringify([status['clusters'], withoutTimes(status['conditions'] as readonly Condition[])]);
    this.#write(`${serviceImports.kind}/${key}/status`, text, () =>
      client.patch(serviceImports, path, 'merge', body, { subresource: 'status' }),
    );
  }

  #writeSlices(key: string, wanted: ReadonlyMap<string, SliceBody>, owner?: ServiceImportObject): void {
    const { client, sources } = this.#options;
    const [namespace = ''] = key.split('/');
    for (const [name, body] of wanted) {
      const id = `${namespace}/${name}`;
      const object = sources.importedSlices.get(id);
      const text = JSON.stringify(body);
      if (object !== undefined && isSameJson(object.body, body)) continue;
      const parts = { addressType: body.addressType, ports: body.ports, endpoints: body.endpoints };
      const metadata = { name, namespace, labels: body.labels, ownerReferences: ownersOf(owner) };
      this.#write(`${endpointSlices.kind}/${id}`, text, () =>
        object === undefined
          ? ignoring(
              409,
              client.create(endpointSlices, {
                apiVersion: apiVersionOf(endpointSlices),
                kind: endpointSlices.kind,
                metadata,
                ...parts,
              }),
            )
          : client.patch(endpointSlices, { namespace, name }, 'merge', {
              metadata: { uid: object.uid, labels: body.labels, ownerReferences: metadata.ownerReferences },
              ports: body.ports,
              endpoints: body.endpoints,
            }),
      );
    }
    for (const name of this.#slices.get(key) ?? []) {
      if (wanted.has(name)) continue;
      const object = sources.importedSlices.get(`${namespace}/${name}`);
      if (object !== undefined) this.#delete(endpointSlices, object);
    }
  }

  #delete(resource: Resource, { namespace, name, uid }: { namespace: string; name: string; uid: string }): void {
    this.#write(`${resource.kind}/${namespace}/${name}`, `delete ${uid}`, () =>
      ignoring(409, this.#options.client.delete(resource, { namespace, name }, { uid })),
    );
  }

  /** `text`: what is written; the same is not written again before the watch has brought the object. Returns whether it is written now. */
  #write(id: string, text: string, write: () => Promise<unknown>): boolean {
    const { writer, now } = this.#options;
    if (this.#sent.get(id) === text) return false;
    if ((this.#refused.get(id) ?? 0) > now()) {
      // The present timer may end before this object is due.
      this.#again();
      return false;
    }
    this.#sent.set(id, text);
    this.#refused.delete(id);
    void writer.enqueue(id, write).then((outcome) => {
      if (outcome === 'written' || outcome === 'superseded') return;
      if (this.#sent.get(id) === text) this.#sent.delete(id);
      if (outcome === 'stopped') return;
      this.#refused.set(id, now() + refusedMs);
      this.#again();
    });
    return true;
  }

  #again(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.start();
      this.#options.onDue();
    }, refusedMs + 1);
  }

  #announce(object: ServiceExportObject, after: readonly Condition[]): void {
    for (const { type, status, reason, message } of after) {
      const before = object.conditions.find((one) => one.type === type);
      const isBad = type === 'Conflict' ? status === 'True' : type === 'Valid' && status === 'False';
      const wasBad =
        before !== undefined && (type === 'Conflict' ? before.status === 'True' : before.status === 'False');
      if (!isBad || (wasBad && before.reason === reason)) continue;
      this.#options.events.record(subjectOf(serviceExports, object), 'Warning', reason ?? type, message ?? type);
    }
  }

  #nowIso(): string {
    return new Date(this.#options.now()).toISOString().replace(/\.\d+Z$/, 'Z');
  }
}

/** What the hub got from an earlier process, or before a session was lost, it still has. */
function keptDelivery({ conditions, generation }: ServiceExportObject, delivery: Delivery): Delivery {
  const ready = conditions.find(({ type }) => type === 'Ready');
  const wasDelivered = ready?.status === 'True' && ready.observedGeneration === generation;
  return delivery.kind === 'pending' && wasDelivered ? { kind: 'delivered', message: ready.message ?? '' } : delivery;
}

/** Of a Service that an annotation exports. */
function aliasProblems(
  { invalid, object }: OwnExport,
  delivery: Delivery,
  merged: MergedImport | undefined,
): readonly Problem[] {
  if (invalid !== undefined) return [invalid];
  if (!object.isShared) return [];
  const { conflict } = merged ?? {};
  return [
    ...(delivery.kind === 'refused' ? [{ code: 'ExportRefused', message: delivery.problem.message }] : []),
    ...(conflict === undefined ? [] : [{ code: conflict.reason.split(',')[0] ?? '', message: conflict.message }]),
  ];
}

function ownersOf(owner: ServiceImportObject | undefined): readonly object[] {
  if (owner === undefined) return [];
  const { name, uid } = owner;
  return [{ apiVersion: apiVersionOf(serviceImports), kind: serviceImports.kind, name, uid, controller: true }];
}

function subjectOf(resource: Resource, { namespace, name, uid }: { namespace: string; name: string; uid: string }) {
  return { apiVersion: apiVersionOf(resource), kind: resource.kind, namespace, name, uid };
}

/** The wanted fields, and null for fields to remove. */
function withNulls(present: Fields, wanted: Fields): Fields {
  const gone = Object.keys(present).filter((field) => wanted[field] === undefined);
  return { ...Object.fromEntries(gone.map((field) => [field, null])), ...wanted };
}

function withoutTimes(conditions: readonly Condition[]): string {
  return JSON.stringify(conditions.map((one) => ({ ...one, lastTransitionTime: '' })));
}

/** Another writer was faster: the watch brings the present object. */
async function ignoring(status: number, write: Promise<unknown>): Promise<void> {
  try {
    await write;
  } catch (error) {
    if (!(error instanceof KubeApiError) || error.status !== status) throw error;
  }
}
