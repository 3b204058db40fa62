/**
 * Checks whether this cluster's OVN applies changes: both databases by an echo that changes nothing, northd and the
 * ovn-controllers by raising `NB_Global.nb_cfg`, as `ovn-nbctl --wait=hv sync` does. Out: what has stalled, and a call
 * when that changes. It runs for as long as the membership does.
 *
 * Raising the number costs northd a computation (a whole one, in releases without incremental processing) and every
 * node a write. So it is raised only after this room has written something: where nothing changes, nothing is written.
 * How often depends on how long northd takes and on the number of nodes.
 */
import { OvsdbError, type Cache, type OvsdbClient } from 'ovsdb-client';
import { integerOf, textOf } from '../../lib/ovn/columns.ts';
import { raiseNbCfg, readNbGlobal } from '../../lib/ovn/nb-cfg.ts';
import { Pulse } from '../../lib/ovn/pulse.ts';
import { databasePatienceMs, OvnLag, type Stalled } from '../settle/ovn-lag.ts';
import type { GatewayNode } from '../model/local.ts';

const tickMs = 500;
/** Between two requests to northd, at least. */
const everyMs = 3000;
/** Requests take a tenth of northd's time at most. */
const restFactor = 10;
/** A northd that was slow once is asked again after this long. */
const longestPauseMs = 30_000;
/** Requests cause at most twenty writes a second in the southbound database. */
const perChassisMs = 50;

export interface OvnProbeOptions {
  readonly northbound: OvsdbClient;
  readonly southbound: OvsdbClient;
  /** Unix milliseconds. */
  readonly now: () => number;
  /** Gateways whose ovn-controller should apply changes. */
  readonly gateways: () => readonly GatewayNode[];
  readonly onChange: () => void;
}

const noneStalled: Stalled = {
  northbound: undefined,
  southbound: undefined,
  northd: undefined,
  controllers: new Map(),
};

export class OvnProbe {
  readonly #options: OvnProbeOptions;
  readonly #lag = new OvnLag();
  #pulses: { readonly northbound: Pulse; readonly southbound: Pulse } | undefined;
  #timer: NodeJS.Timeout | undefined;
  #check: NodeJS.Immediate | undefined;
  #unsubscribe = (): void => undefined;
  #isRaising = false;
  /** Something was written since the last request. */
  #isOwed = false;
  #raisedMs = 0;
  #stalled = noneStalled;

  constructor(options: OvnProbeOptions) {
    this.#options = options;
  }

  get stalled(): Stalled {
    return this.#stalled;
  }

  start(): void {
    if (this.#timer !== undefined) return;
    const { northbound, southbound, now } = this.#options;
    this.#pulses = {
      northbound: new Pulse({ client: northbound, now }),
      southbound: new Pulse({ client: southbound, now }),
    };
    this.#timer = setInterval(() => this.#tick(), tickMs);
    // The time that northd took must not depend on the interval of the checks.
    this.#unsubscribe = northbound.subscribe((changes) => {
      if (changes.some(({ table }) => table === 'NB_Global')) this.#look();
    });
  }

  /** This room has written to a database. */
  wrote(): void {
    this.#isOwed = true;
  }

  /** Call when a gateway became silent: a request is due although nothing was written. */
  doubt(): void {
    this.#isOwed = true;
  }

  stop(): void {
    clearInterval(this.#timer);
    clearImmediate(this.#check);
    this.#unsubscribe();
    this.#timer = undefined;
    this.#pulses = undefined;
    this.#isOwed = false;
    this.#lag.reset();
    this.#stalled = noneStalled;
  }

  #tick(): void {
    void this.#pulses?.northbound.beat();
    void this.#pulses?.southbound.beat();
    if (this.#isDue()) void this.#raise();
    // After a stall of this process the timer fires before the answers that arrived meanwhile are read.
    this.#check = setImmediate(() => this.#look());
  }

  #isDue(): boolean {
    const { northbound, southbound, now } = this.#options;
    if (!this.#isOwed || this.#isRaising || this.#lag.isAwaited || northbound.state !== 'synced') return false;
    const nodes = southbound.cache.table('Chassis_Private').rows.size;
    const restMs = Math.min(restFactor * this.#lag.tookMs, longestPauseMs);
    return now() - this.#raisedMs >= Math.max(everyMs, restMs, perChassisMs * nodes);
  }

  async #raise(): Promise<void> {
    const { northbound, now } = this.#options;
    const sinceMs = now();
    this.#isRaising = true;
    this.#isOwed = false;
    this.#raisedMs = sinceMs;
    try {
      const wanted = await raiseNbCfg(northbound);
      if (this.#timer !== undefined && wanted !== undefined) this.#lag.asked(wanted, sinceMs);
    } catch (error) {
      // The pulse shows what is wrong with the database; the request is repeated later.
      if (!(error instanceof OvsdbError)) throw error;
      this.#isOwed = true;
    } finally {
      this.#isRaising = false;
    }
  }

  #look(): void {
    if (this.#pulses === undefined) return;
    const { northbound, southbound, now, gateways, onChange } = this.#options;
    const nowMs = now();
    const nodes = new Map(gateways().map(({ node, chassis }) => [chassis, node]));
    const taken = {
      wanted: readNbGlobal(northbound.cache, 'nb_cfg') ?? 0,
      northd: readNbGlobal(northbound.cache, 'sb_cfg') ?? 0,
      chassis: chassisNumbers(southbound.cache),
    };
    this.#lag.see(taken, nodes.keys(), nowMs);
    const behind = [...this.#lag.chassisBehindMs(nowMs)];
    const stalled: Stalled = {
      northbound: this.#pulses.northbound.silentSinceMs(databasePatienceMs),
      southbound: this.#pulses.southbound.silentSinceMs(databasePatienceMs),
      northd: this.#lag.northdBehindMs(nowMs),
      controllers: new Map(behind.map(([chassis, sinceMs]) => [nodes.get(chassis) ?? chassis, sinceMs])),
    };
    const isNews = textOfStalled(stalled) !== textOfStalled(this.#stalled);
    this.#stalled = stalled;
    if (isNews) onChange();
  }
}

function textOfStalled({ controllers, ...rest }: Stalled): string {
  return JSON.stringify([rest, [...controllers]]);
}

function chassisNumbers(southbound: Cache): ReadonlyMap<string, number> {
  const rows = southbound.table('Chassis_Private').rows.values();
  return new Map([...rows].map((row) => [textOf(row, 'name'), integerOf(row, 'nb_cfg')]));
}
