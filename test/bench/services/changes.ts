/** One endpoint of a Service comes or goes: the time until the row has it, and the CPU of the processes behind. */
import { setTimeout as pause } from 'node:timers/promises';
import type { OvsdbClient } from 'ovsdb-client';
import { reflect } from '../../../lib/kube/reflector.ts';
import { endpointSlices } from '../../../lib/kube/resources.ts';
import type { RawObject, Reflector } from '../../../lib/kube/types.ts';
import { nameOf, type ControllerBed } from '../../system/controller-bed.ts';
import { changedLabel, serviceName, setWidth, sliceName } from './objects.ts';
import { eventually, type NotYet, notYet } from '../../../lib/testing-eventually.ts';

export interface ChangeOptions {
  /** How many changes; each of another Service. */
  readonly count: number;
  /** From one change to the next: each is alone, also for a program that gathers changes. */
  readonly everyMs: number;
  readonly width: number;
}

type Seen = (service: string, addresses: readonly string[]) => void;

export const balancerOf = (at: number): string => `default/${serviceName(at)}/tcp/ipv4`;

export class EndpointChanges {
  readonly #bed: ControllerBed;
  readonly #slices: Reflector<readonly string[]>;
  /** When the slice, and the row, of a Service changed. */
  readonly #sliceMs = new Map<string, number>();
  readonly #rowMs = new Map<string, number>();
  readonly #unsubscribe: () => void;
  #answer: Seen | undefined;

  private constructor(bed: ControllerBed) {
    this.#bed = bed;
    this.#slices = reflect({
      client: bed.kube,
      resource: endpointSlices,
      labelSelector: `${changedLabel}=true`,
      parse: addressesOf,
    });
    this.#unsubscribe = bed.nb.subscribe((changes) => {
      for (const { table, after } of changes)
        if (table === 'Load_Balancer' && after !== undefined) this.#rowMs.set(nameOf(after), performance.now());
    });
  }

  static async open(bed: ControllerBed): Promise<EndpointChanges> {
    const changes = new EndpointChanges(bed);
    await changes.#slices.synced;
    changes.#slices.subscribe(({ key, before, after }) => {
      if (before === undefined || after === undefined) return;
      changes.#sliceMs.set(key, performance.now());
      changes.#answer?.(key, after);
    });
    return changes;
  }

  async close(): Promise<void> {
    this.#unsubscribe();
    await this.#slices.stop();
  }

  /** Milliseconds from the event of a slice to the change of its row, of each. */
  async measure({ count, everyMs, width }: ChangeOptions): Promise<readonly number[]> {
    const times: number[] = [];
    for (let at = 0; at < count; at += 1) {
      const rest = pause(everyMs);
      const [slice, balancer] = [`default/${sliceName(at)}`, balancerOf(at)];
      this.#sliceMs.delete(slice);
      this.#rowMs.delete(balancer);
      await setWidth(this.#bed.kube, at, width);
      const isDone = (): true | NotYet => (this.#sliceMs.has(slice) && this.#rowMs.has(balancer)) || notYet('not yet');
      await eventually(`the row of ${slice}`, isDone, 10_000, 5);
      times.push(Math.max(0, (this.#rowMs.get(balancer) ?? 0) - (this.#sliceMs.get(slice) ?? 0)));
      await rest;
    }
    return times;
  }

  /** The same with a bare program in place of the controller, which writes the row as soon as it sees the slice. */
  async measureBare(options: ChangeOptions): Promise<readonly number[]> {
    this.#answer = (slice, addresses) => void setBackends(this.#bed.nb, slice, addresses);
    const times = await this.measure(options);
    this.#answer = undefined;
    return times;
  }
}

function addressesOf(raw: RawObject): readonly string[] {
  return (raw['endpoints'] as { readonly addresses: readonly string[] }[]).flatMap(({ addresses }) => addresses);
}

async function setBackends(nb: OvsdbClient, slice: string, addresses: readonly string[]): Promise<void> {
  const name = `${slice.replace(/-[^-]*$/, '')}/tcp/ipv4`;
  const row = [...nb.cache.table('Load_Balancer').rows.values()].find((one) => one['name'] === name);
  const [vip = ''] = Object.keys(row?.['vips'] ?? {});
  const backends = addresses.map((address) => `${address}:8080`).join(',');
  const where = [['name', '==', name]] as const;
  await nb.transact([{ op: 'update', table: 'Load_Balancer', where, row: { vips: { [vip]: backends } } }]);
}
