/** One pod's label changes: the time until the rows, and the flows of a node, are as the label says; and the same rows from a bare program. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Change, Operation } from 'ovsdb-client';
import { reflect } from '../../../lib/kube/reflector.ts';
import { pods } from '../../../lib/kube/resources.ts';
import type { Reflector } from '../../../lib/kube/types.ts';
import { type ControllerBed, nameOf } from '../../system/controller-bed.ts';
import type { PodAt } from '../scale-pods.ts';
import type { FlowWatch } from './flow-watch.ts';
import { setApplication } from './objects.ts';
import { eventually, notYet } from '../../../lib/testing-eventually.ts';

export interface LabelChange {
  readonly pod: PodAt;
  readonly address: string;
  readonly from: number;
  readonly to: number;
}

export interface Times {
  /** From the event of the pod, as a watch sees it, to the last row. */
  readonly rowMs: readonly number[];
  /** And to the last flow with its address. */
  readonly flowMs: readonly number[];
  /** Rows changed, of all. */
  readonly rows: number;
}

type Members = Readonly<Record<'ports' | 'addresses', readonly string[]>>;

/** What one change did to the members of a row. */
interface Moved {
  readonly table: string;
  readonly name: string;
  readonly column: keyof Members;
  readonly added: readonly string[];
  readonly removed: readonly string[];
}

/** From one change to the next: each is alone, and its flows are there. */
const everyMs = 300;
/** Where the machine is busy, OVN may still compute what came before. */
const flowTimeoutMs = 60_000;

export class LabelChanges {
  readonly #bed: ControllerBed;
  readonly #watch: FlowWatch;
  readonly #seen: Reflector<string>;
  readonly #podMs = new Map<string, number>();
  readonly #unsubscribe: () => void;
  #moved: Moved[] = [];
  #rowMs = 0;
  #answer: ((key: string) => void) | undefined;
  /** By pod: what its last change did. */
  readonly #known = new Map<string, readonly Moved[]>();

  private constructor(bed: ControllerBed, watch: FlowWatch) {
    this.#bed = bed;
    this.#watch = watch;
    const parse = ({ metadata }: { readonly metadata: { readonly labels?: Readonly<Record<string, string>> } }) =>
      metadata.labels?.['app'] ?? '';
    this.#seen = reflect({ client: bed.kube, resource: pods, parse });
    this.#unsubscribe = bed.nb.subscribe((changes) => {
      this.#rowMs = performance.now();
      this.#moved.push(...changes.flatMap(movedOf));
    });
  }

  static async open(bed: ControllerBed, watch: FlowWatch): Promise<LabelChanges> {
    const changes = new LabelChanges(bed, watch);
    await changes.#seen.synced;
    changes.#seen.subscribe(({ key, before, after }) => {
      if (before === undefined || after === undefined || before === after) return;
      changes.#podMs.set(key, performance.now());
      changes.#answer?.(key);
    });
    return changes;
  }

  async close(): Promise<void> {
    this.#unsubscribe();
    await this.#seen.stop();
  }

  async measure(all: readonly LabelChange[]): Promise<Times> {
    const [rowMs, flowMs]: [number[], number[]] = [[], []];
    let rows = 0;
    for (const change of all) {
      const { pod, address, to } = change;
      const key = `${pod.namespace}/${pod.name}`;
      this.#podMs.delete(key);
      this.#watch.forget(address);
      this.#moved = [];
      const rest = pause(everyMs);
      await setApplication(this.#bed.kube, pod, to);
      const areThere = () => (this.#podMs.has(key) && this.#watch.lastMs(address) !== undefined) || notYet('not yet');
      await eventually(`flows of ${key}`, areThere, flowTimeoutMs, 5);
      await rest;
      const seenMs = this.#podMs.get(key) ?? 0;
      rowMs.push(Math.max(0, this.#rowMs - seenMs));
      flowMs.push(Math.max(0, (this.#watch.lastMs(address) ?? 0) - seenMs));
      rows += this.#moved.length;
      this.#known.set(key, this.#moved);
    }
    return { rowMs, flowMs, rows };
  }

  /** The changes back, with rows that this program writes as soon as it sees the pod: it knows them from the way there. */
  async measureBare(all: readonly LabelChange[]): Promise<Times> {
    const known = new Map(this.#known);
    this.#answer = (key) => void this.#bed.nb.transact((known.get(key) ?? []).flatMap(backOf));
    const times = await this.measure(all.map((one) => ({ ...one, from: one.to, to: one.from })));
    this.#answer = undefined;
    return times;
  }
}

function movedOf({ table, before, after }: Change): readonly Moved[] {
  const name = nameOf(after ?? before);
  const column = table === 'Port_Group' ? 'ports' : 'addresses';
  const [was, is] = [before, after].map((row) => new Set(row?.[column] as readonly string[] | undefined));
  const added = [...(is ?? [])].filter((one) => was?.has(one) !== true);
  const removed = [...(was ?? [])].filter((one) => is?.has(one) !== true);
  return [{ table, name, column, added, removed }];
}

function backOf({ table, name, column, added, removed }: Moved): readonly Operation[] {
  const all = [
    [column, 'delete', added],
    [column, 'insert', removed],
  ] as const;
  const mutations = all.filter(([, , members]) => members.length > 0);
  return mutations.length === 0 ? [] : [{ op: 'mutate', table, where: [['name', '==', name]], mutations }];
}
