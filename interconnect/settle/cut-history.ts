/**
 * Remembers which gateways of this cluster are cut off from each other, and which of those are lost. BFD does not show that
 * to the gateways that could take over. In: reports of daemons and the holders of ports. Out: the result of `cuts.ts`.
 */
import type { CutReport } from '../model/tunnels.ts';
import {
  contestants,
  cutOffBy,
  hearsNobody,
  nextHistory,
  pairKey,
  pairOf,
  settleCuts,
  type Cut,
  type HolderHistory,
  type Pair,
  type PairMemory,
} from './cuts.ts';

export interface HeldPortFacts {
  /** `<network>/<path>` */
  readonly key: string;
  readonly holder: string;
  /** First in the order that the database has. */
  readonly anchor: string | undefined;
}

export interface CutView {
  /** Certain ones and suspected ones. */
  readonly cuts: readonly Cut[];
  /** The gateways that are cut off from another and are no longer alive. */
  readonly lost: ReadonlySet<string>;
}

/** Checks of another daemon, each a second apart: longer than a daemon waits for one answer of the API server. */
export const checksUntilSilent = 8;
/** An anchor that is cut off and has not held its port for this long is lost. */
export const unheldMs = 3000;

export const noCuts: CutView = { cuts: [], lost: new Set() };

export class CutHistory {
  #pairs: ReadonlyMap<string, PairMemory> = new Map();
  #histories = new Map<string, HolderHistory>();
  /** Port → since when its anchor has not had it. */
  #unheld = new Map<string, number>();
  readonly #checkedAt = new Map<string, string>();
  /** Chassis → for each other one, how many of its checks came since the last check of this chassis. */
  readonly #missed = new Map<string, Map<string, number>>();
  #view = noCuts;
  #wakeMs = Infinity;

  get view(): CutView {
    return this.#view;
  }

  /** When the next step is due even without a change; Infinity for never. */
  get wakeMs(): number {
    return this.#wakeMs;
  }

  step(facts: {
    readonly reports: readonly CutReport[];
    readonly ports: readonly HeldPortFacts[];
    readonly nowMs: number;
  }): CutView {
    const { reports, ports, nowMs } = facts;
    const contested = this.#contested(ports, nowMs);
    const { memories, wakeMs } = settleCuts({ reports, contested, before: this.#pairs, nowMs });
    this.#pairs = memories;
    const cuts = [...memories.values()].map(({ pair, cutSinceMs }): Cut => ({ pair, sinceMs: cutSinceMs }));
    const cutOff = cutOffBy(cuts);
    this.#count(reports, cutOff);
    const unheld = this.#notHeld(ports, cutOff, nowMs);
    const isLost = (report: CutReport): boolean =>
      cutOff.has(report.chassis) &&
      (hearsNobody(report, cutOff) || this.#isSilent(report.chassis) || unheld.lost.has(report.chassis));
    const lost = new Set(reports.filter(isLost).map(({ chassis }) => chassis));
    this.#view = cuts.length === 0 ? noCuts : { cuts, lost };
    this.#wakeMs = Math.min(wakeMs, unheld.wakeMs);
    return this.#view;
  }

  clear(): void {
    this.#pairs = new Map();
    this.#histories.clear();
    this.#unheld.clear();
    this.#checkedAt.clear();
    this.#missed.clear();
    this.#view = noCuts;
    this.#wakeMs = Infinity;
  }

  #contested(ports: readonly HeldPortFacts[], nowMs: number): readonly Pair[] {
    const histories = ports.map(({ key, holder }): [string, HolderHistory] => [
      key,
      nextHistory(this.#histories.get(key) ?? [], holder, nowMs),
    ]);
    this.#histories = new Map(histories);
    const pairs = histories.flatMap(([, history]) => contestants(history));
    return [...new Map(pairs.map((pair) => [pairKey(pair), pair])).values()];
  }

  /** Counts checks of daemons against each other: while the API server is away they are silent together. */
  #count(reports: readonly CutReport[], cutOff: ReadonlySet<string>): void {
    for (const chassis of this.#missed.keys()) if (!cutOff.has(chassis)) this.#missed.delete(chassis);
    // A daemon that reports no siblings is of a release that does not check every second either.
    for (const { chassis, siblings } of reports)
      if (cutOff.has(chassis) && siblings.length > 0 && !this.#missed.has(chassis))
        this.#missed.set(chassis, new Map());
    for (const { chassis, checkedAt } of reports) {
      if (checkedAt === undefined || this.#checkedAt.get(chassis) === checkedAt) continue;
      this.#checkedAt.set(chassis, checkedAt);
      for (const [other, missed] of this.#missed) {
        if (other === chassis) missed.clear();
        else missed.set(chassis, (missed.get(chassis) ?? 0) + 1);
      }
    }
  }

  #isSilent(chassis: string): boolean {
    const missed = this.#missed.get(chassis);
    return missed !== undefined && missed.values().some((count) => count >= checksUntilSilent);
  }

  #notHeld(
    ports: readonly HeldPortFacts[],
    cutOff: ReadonlySet<string>,
    nowMs: number,
  ): { readonly lost: ReadonlySet<string>; readonly wakeMs: number } {
    const unheld = new Map<string, number>();
    const lost = new Set<string>();
    const wakes: number[] = [];
    for (const { key, holder, anchor } of ports) {
      if (anchor === undefined || holder === anchor || !cutOff.has(anchor)) continue;
      const name = pairKey(pairOf(key, anchor));
      const sinceMs = this.#unheld.get(name) ?? nowMs;
      unheld.set(name, sinceMs);
      if (nowMs - sinceMs >= unheldMs) lost.add(anchor);
      else wakes.push(sinceMs + unheldMs);
    }
    this.#unheld = unheld;
    return { lost, wakeMs: Math.min(Infinity, ...wakes) };
  }
}
