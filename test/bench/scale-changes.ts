/** Single pods that come and go in a large cluster, and the rows a bare program would make of them. */
import type { Operation, OvsdbClient } from 'ovsdb-client';
import { setTimeout as pause } from 'node:timers/promises';
import { reflect } from '../../lib/kube/reflector.ts';
import { pods } from '../../lib/kube/resources.ts';
import type { Reflector } from '../../lib/kube/types.ts';
import type { ControllerBed } from '../system/controller-bed.ts';
import { createPod, podAt, podManifest, portOf, type PodAt } from './scale-pods.ts';
import { eventually, notYet } from '../../lib/testing-eventually.ts';

const [table, bareSwitch, bareGroup] = ['Logical_Switch_Port', 'bench', 'bench'];

/** Between two changes: each is alone. */
const pauseMs = 25;

/** The rows that a pod needs, from a program that knows them: one transaction at a time takes all that wait. */
export class BareRows {
  readonly #nb: OvsdbClient;
  #waiting: PodAt[] = [];
  #last: Promise<unknown> = Promise.resolve();

  constructor(nb: OvsdbClient) {
    this.#nb = nb;
  }

  async open(): Promise<void> {
    await this.#nb.transact([
      { op: 'insert', table: 'Logical_Switch', row: { name: bareSwitch } },
      { op: 'insert', table: 'Port_Group', row: { name: bareGroup } },
    ]);
  }

  /** Resolves when the pod's port and its place in a group are in the database. */
  add(pod: PodAt): Promise<unknown> {
    this.#waiting.push(pod);
    if (this.#waiting.length === 1) this.#last = this.#last.then(() => this.insert(this.#waiting.splice(0)));
    return this.#last;
  }

  insert(all: readonly PodAt[]): Promise<unknown> {
    const addresses = ['0a:00:00:00:00:01 10.16.255.1'];
    const uuids = all.map((_, at) => ({ named: `p${String(at)}` }));
    const rows = all.map((pod, at): Operation => {
      const row = { name: portOf(pod), addresses, port_security: addresses, external_ids: { vendor: 'bench' } };
      return { op: 'insert', table, uuidName: `p${String(at)}`, row };
    });
    return this.#nb.transact([...rows, ...this.#members(uuids, 'insert')]);
  }

  remove(pod: PodAt): Promise<unknown> {
    const found = [...this.#nb.cache.table(table).rows.values()].filter((row) => row['name'] === portOf(pod));
    return this.#nb.transact(
      this.#members(
        found.map(({ _uuid }) => _uuid),
        'delete',
      ),
    );
  }

  #members(uuids: readonly (string | { readonly named: string })[], change: 'insert' | 'delete'): readonly Operation[] {
    const holders = [
      ['Logical_Switch', bareSwitch],
      ['Port_Group', bareGroup],
    ] as const;
    return holders.map(([holder, name]) => ({
      op: 'mutate',
      table: holder,
      where: [['name', '==', name]],
      mutations: [['ports', change, uuids]],
    }));
  }

  async close(): Promise<void> {
    await this.#nb.transact(
      (['Logical_Switch', 'Port_Group'] as const).map((holder) => ({
        op: 'delete',
        table: holder,
        where: [['name', '==', bareSwitch]],
      })),
    );
  }
}

/** Sees pods in the API and ports in the database, and the time between the two. */
export class Changes {
  readonly #bed: ControllerBed;
  readonly #seen: Reflector<string>;
  /** When a pod, and a port of its name, came or went. */
  readonly #podMs = new Map<string, number>();
  readonly #portMs = new Map<string, number>();
  readonly #unsubscribe: () => void;
  /** Asked when a pod is seen. */
  #answer: ((pod: PodAt, isThere: boolean) => void) | undefined;

  private constructor(bed: ControllerBed) {
    this.#bed = bed;
    this.#seen = reflect({ client: bed.kube, resource: pods, parse: ({ metadata }) => metadata.uid });
    this.#unsubscribe = bed.nb.subscribe((changes) => {
      for (const { table: of, before, after } of changes) {
        const name = (after ?? before)?.['name'];
        const isMove = (before === undefined) !== (after === undefined);
        if (of === table && isMove && typeof name === 'string') this.#portMs.set(name, performance.now());
      }
    });
  }

  static async open(bed: ControllerBed): Promise<Changes> {
    const changes = new Changes(bed);
    await changes.#seen.synced;
    changes.#seen.subscribe(({ key, before, after }) => {
      if ((before === undefined) === (after === undefined)) return;
      const [namespace = '', name = ''] = key.split('/');
      changes.#podMs.set(`${name}.${namespace}`, performance.now());
      changes.#answer?.({ name, namespace, node: '' }, after !== undefined);
    });
    return changes;
  }

  async close(): Promise<void> {
    this.#unsubscribe();
    await this.#seen.stop();
  }

  /** Creates pods one by one, and deletes them; milliseconds from a pod's event to its row, of each. */
  async measure(count: number): Promise<readonly number[]> {
    return this.#all(count, 'one', (pod) => createPod(this.#bed.kube, pod));
  }

  /** The same with rows that this program writes as soon as it sees the pod. */
  async measureBare(count: number): Promise<readonly number[]> {
    const bare = new BareRows(this.#bed.nb);
    await bare.open();
    this.#answer = (pod, isThere) => void (isThere ? bare.insert([pod]) : bare.remove(pod));
    const times = await this.#all(count, 'bare', (pod) => this.#bed.kube.create(pods, podManifest(pod, 'bare')));
    this.#answer = undefined;
    await bare.close();
    return times;
  }

  async #all(count: number, prefix: string, create: (pod: PodAt) => Promise<unknown>): Promise<readonly number[]> {
    const all = Array.from({ length: count }, (_, at) => podAt(at, prefix));
    const times: number[] = [];
    for (const pod of all) times.push(await this.#one(pod, () => create(pod)));
    for (const pod of all) times.push(await this.#one(pod, () => this.#bed.deletePod(pod.name, pod.namespace)));
    return times;
  }

  async #one(pod: PodAt, change: () => Promise<unknown>): Promise<number> {
    const name = portOf(pod);
    this.#podMs.delete(name);
    this.#portMs.delete(name);
    await change();
    await eventually(
      `the row of ${name}`,
      () => (this.#podMs.has(name) && this.#portMs.has(name)) || notYet('not yet'),
      10_000,
      5,
    );
    await pause(pauseMs);
    return Math.max(0, (this.#portMs.get(name) ?? 0) - (this.#podMs.get(name) ?? 0));
  }
}

/** A quantile of a Prometheus histogram between two readings: the upper bound of its bucket, in seconds. */
export function quantileOfHistogram(
  name: string,
  share: number,
  { before, after }: { readonly before: string; readonly after: string },
): number {
  const buckets = (text: string): readonly (readonly [number, number])[] =>
    [...text.matchAll(new RegExp(`^${name}_bucket\\{le="([^"]+)"[^}]*\\} (\\S+)$`, 'gm'))].map(
      ([, bound, counted]) => [bound === '+Inf' ? Number.POSITIVE_INFINITY : Number(bound), Number(counted)] as const,
    );
  const earlier = new Map(buckets(before));
  const counts = buckets(after).map(([bound, counted]) => [bound, counted - (earlier.get(bound) ?? 0)] as const);
  const whole = counts.at(-1)?.[1] ?? 0;
  return counts.find(([, counted]) => counted >= whole * share)?.[0] ?? Number.NaN;
}
