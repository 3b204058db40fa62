/** An API server in memory, a cluster that watches it, and the status writer of that cluster; used by tests only. */
import assert from 'node:assert/strict';
import { KubeApiError } from '../lib/kube/errors.ts';
import { keyOf } from '../lib/kube/resources.ts';
import type { KubeClient, ObjectMeta, ObjectName, RawObject, Resource, WriteOptions } from '../lib/kube/types.ts';
import { ObjectWriter } from '../lib/kube/writer.ts';
import type { Problem } from '../lib/desired/problem.ts';
import type { Kinds } from './model/objects.ts';
import type { Capabilities } from './model/view.ts';
import { planKey } from './plan/plan.ts';
import { PendingWrites } from './status/pending-writes.ts';
import { StatusWriter } from './status/status-writer.ts';
import { TestCluster } from './testing-cluster.ts';
import { allApplied } from './testing-reports.ts';
import { kinds } from './watch/kinds.ts';

/** A write makes its object dirty: its result is observed in the next round. */
const mostRounds = 50;

type Fields = Readonly<Record<string, unknown>>;

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** RFC 7396; with `strategic` lists of conditions are merged by type. */
function merge(target: unknown, patch: Fields, isStrategic: boolean): Fields {
  const merged: Record<string, unknown> = isFields(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete merged[key];
    else if (isFields(value)) merged[key] = merge(merged[key], value, isStrategic);
    else if (isStrategic && key === 'conditions') merged[key] = mergeByType(merged[key], value);
    else merged[key] = value;
  }
  return merged;
}

function mergeByType(target: unknown, patch: unknown): readonly Fields[] {
  const all = new Map<unknown, Fields>();
  for (const one of [target, patch].flatMap((list) => (Array.isArray(list) ? (list as readonly Fields[]) : [])))
    all.set(one['type'], { ...all.get(one['type']), ...one });
  return [...all.values()];
}

function storeOf(resource: Resource): keyof Kinds {
  const [kind] = Object.entries(kinds).find(([, one]) => one.resource === resource) ?? [];
  return kind as keyof Kinds;
}

export interface TestControllerOptions {
  readonly capabilities?: Capabilities | undefined;
  readonly nowMs?: () => number;
}

/** Everything from the watch to the writes, without a database: planned rows count as written unless a test refuses them. */
export class TestController {
  /** By kind and key. */
  readonly objects: ReadonlyMap<string, RawObject>;
  /** `patch Subnet/a status`, in order. */
  readonly writes: string[] = [];
  /** `Warning Subnet/a Reason: message`, in order. */
  readonly events: string[] = [];
  readonly refusals = new Map<string, Problem>();
  /** Ports that the database still has although no plan wants them. */
  readonly leftPorts = new Set<string>();
  readonly cluster: TestCluster;
  readonly #objects = new Map<string, RawObject>();
  readonly #writer = new ObjectWriter({ timing: { qps: 1e6, burst: 1e6 } });
  readonly #statusWriter: StatusWriter;
  #version = 1;

  constructor({ capabilities, nowMs }: TestControllerOptions = {}) {
    this.objects = this.#objects;
    this.cluster = new TestCluster(capabilities);
    // Without another clock every write comes a second after the one before.
    let ms = 0;
    this.#statusWriter = new StatusWriter({
      view: this.cluster,
      client: this.#client(),
      pending: new PendingWrites(this.#writer),
      events: {
        record: ({ kind, namespace, name }, type, reason, message) => {
          const key = keyOf({ name, ...(namespace === undefined ? {} : { namespace }) });
          this.events.push(`${type} ${kind}/${key} ${reason}: ${message}`);
        },
      },
      rows: {
        ...allApplied.rows,
        hasSwitch: (name) => planKey(this.cluster, `subnet/${name}`).rows.length > 0,
        hasRouter: (name) => planKey(this.cluster, `vpc/${name}`).rows.length > 0,
        hasPort: (name) => this.cluster.isAllocated(name) || this.leftPorts.has(name),
      },
      refusals: (key) => new Map([...this.refusals].filter(([refused]) => refused === key)),
      nowMs: nowMs ?? (() => (ms += 1000)),
    });
  }

  /** A user, or another controller, writes an object. */
  put(kind: keyof Kinds, raw: { readonly metadata: Fields & { readonly name: string } } & Fields): void {
    const { metadata } = raw;
    const namespace = kinds[kind].resource.namespaced ? { namespace: 'default' } : {};
    const whole = { uid: `uid-${metadata.name}`, generation: 1, ...namespace, ...metadata } as unknown as ObjectMeta;
    this.#store(kinds[kind].resource, { ...raw, metadata: whole });
  }

  remove(kind: keyof Kinds, name: string): void {
    this.#objects.delete(`${kinds[kind].resource.kind}/${name}`);
    this.cluster.change(kind, name, undefined);
  }

  publish(key: string): void {
    this.#statusWriter.publish(key);
  }

  /** Publishes dirty keys until nothing is dirty and nothing is being written. */
  async settle(): Promise<void> {
    let round = 0;
    for (let keys = this.cluster.settle(); keys.size > 0; keys = this.cluster.settle()) {
      round += 1;
      assert.ok(round < mostRounds, `writes do not end: ${this.writes.slice(-5).join(', ')}`);
      for (const key of keys) this.publish(key);
      await this.idle();
    }
  }

  async idle(): Promise<void> {
    await this.#writer.idle();
    // Events follow their write.
    await new Promise(setImmediate);
  }

  close(): void {
    this.#statusWriter.close();
  }

  #remove(resource: Resource, name: ObjectName): void {
    this.remove(storeOf(resource), keyOf(name));
  }

  #store(resource: Resource, raw: RawObject): RawObject {
    this.#version += 1;
    const stored = {
      ...raw,
      kind: resource.kind,
      metadata: { ...raw.metadata, resourceVersion: String(this.#version) },
    };
    const key = keyOf(resource.namespaced ? stored.metadata : { name: stored.metadata.name });
    this.#objects.set(`${resource.kind}/${key}`, stored);
    const kind = storeOf(resource);
    this.cluster.change(kind, key, kinds[kind].parse(stored));
    return stored;
  }

  #client(): KubeClient {
    const create = async (resource: Resource, object: object): Promise<RawObject> => {
      await new Promise(setImmediate);
      const { metadata } = object as RawObject;
      this.writes.push(`create ${resource.kind}/${keyOf(metadata)}`);
      return this.#store(resource, {
        ...object,
        metadata: { generation: 1, ...metadata, uid: `uid-${metadata.name}` },
      });
    };
    const patch = async (
      resource: Resource,
      name: ObjectName,
      kind: string,
      body: unknown,
      options: WriteOptions = {},
    ): Promise<RawObject> => {
      const key = `${resource.kind}/${keyOf(name)}`;
      this.writes.push(`patch ${key}${options.subresource === undefined ? '' : ' status'}`);
      // Others write in between.
      await new Promise(setImmediate);
      const before = this.#objects.get(key);
      if (before === undefined) throw new KubeApiError(404, 'NotFound', `${key} does not exist`);
      const { metadata } = body as { readonly metadata: Partial<RawObject['metadata']> };
      for (const field of ['uid', 'resourceVersion'] as const)
        if (metadata[field] !== undefined && metadata[field] !== before.metadata[field])
          throw new KubeApiError(409, 'Conflict', `${field} of ${key} is another`);
      const after = merge(before, body as Fields, kind === 'strategic') as unknown as RawObject;
      const { deletionTimestamp, finalizers = [] } = after.metadata;
      const isReleased = deletionTimestamp !== undefined && finalizers.length === 0;
      if (isReleased) this.#remove(resource, name);
      return isReleased ? after : this.#store(resource, after);
    };
    const remove = async (resource: Resource, name: ObjectName): Promise<void> => {
      this.writes.push(`delete ${resource.kind}/${keyOf(name)}`);
      await new Promise(setImmediate);
      this.#remove(resource, name);
    };
    return { create, patch, delete: remove } as unknown as KubeClient;
  }
}
