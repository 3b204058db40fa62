/**
 * Which of the hub's databases do not answer. In: their clients. Out: a call whenever that changes. Members are informed of
 * it separately, because all other messages to them wait for these databases.
 */
import type { OvsdbClient } from 'ovsdb-client';
import { Pulse } from '../../../lib/ovn/pulse.ts';
import type { SilentDatabase } from '../../model/messages.ts';
import { DatabasesSilent } from '../model/errors.ts';
import { icNorthbound, icSouthbound } from './databases.ts';

/**
 * A raft cluster that lost its leader has another one sooner: a dead connection is noticed within three seconds by
 * `probeIntervalMs`, and the next server is asked at once.
 */
export const patienceMs = 3500;
const defaultTimes: LivenessTimes = { everyMs: 500, patienceMs };
/** Interval of probes of the clients of these databases. */
export const probeIntervalMs = 1000;

export interface LivenessTimes {
  readonly everyMs: number;
  /** Unanswered for so long, it is silent. */
  readonly patienceMs: number;
}

export interface LivenessOptions {
  readonly northbound: OvsdbClient;
  readonly southbound: OvsdbClient;
  readonly now: () => number;
  readonly times?: LivenessTimes;
  readonly log: { info(fields: object, message: string): void; warn(fields: object, message: string): void };
  readonly onChange: () => void;
}

export class DatabaseLiveness {
  readonly #options: LivenessOptions;
  readonly #times: LivenessTimes;
  readonly #pulses: readonly (readonly [name: string, pulse: Pulse])[];
  readonly #timer: NodeJS.Timeout;
  readonly #unsubscribe: readonly (() => void)[];
  /** Callers that wait for the databases only as long as they answer. */
  readonly #waiting = new Set<() => void>();
  #silent: readonly SilentDatabase[] = [];
  #check: NodeJS.Immediate | undefined;

  constructor(options: LivenessOptions) {
    this.#options = options;
    this.#times = options.times ?? defaultTimes;
    const clients = [
      [icNorthbound.database, options.northbound],
      [icSouthbound.database, options.southbound],
    ] as const;
    this.#pulses = clients.map(([name, client]) => [name, new Pulse({ client, now: options.now })]);
    // One that is in sync again answers: that is no news to wait for.
    this.#unsubscribe = clients.map(([, client]) => client.onState((state) => state === 'synced' && this.#beat()));
    this.#timer = setInterval(() => {
      this.#beat();
      // After a stall of this process the timer comes before the answers that arrived meanwhile.
      this.#check = setImmediate(() => this.#look());
    }, this.#times.everyMs);
  }

  /** Sorted by name. */
  get silent(): readonly SilentDatabase[] {
    return this.#silent;
  }

  /** @throws DatabasesSilent, as soon as that is known: the work itself goes on, and is done once they answer. */
  async answered<T>(work: Promise<T>): Promise<T> {
    const { promise, reject } = Promise.withResolvers<never>();
    const giveUp = (): void => {
      const names = this.#silent.map(({ name }) => name).join(', ');
      reject(new DatabasesSilent(`its databases do not answer: ${names}`));
    };
    this.#waiting.add(giveUp);
    if (this.#silent.length > 0) giveUp();
    try {
      return await Promise.race([work, promise]);
    } finally {
      this.#waiting.delete(giveUp);
    }
  }

  close(): void {
    clearInterval(this.#timer);
    clearImmediate(this.#check);
    for (const stop of this.#unsubscribe) stop();
  }

  #beat(): void {
    for (const [, pulse] of this.#pulses) void pulse.beat();
  }

  #look(): void {
    const silent = this.#pulses.flatMap(([name, pulse]) => {
      const sinceMs = pulse.silentSinceMs(this.#times.patienceMs);
      return sinceMs === undefined ? [] : [{ name, sinceMs }];
    });
    const names = silent.map(({ name }) => name);
    if (names.join() === this.#silent.map(({ name }) => name).join()) return;
    this.#silent = silent;
    if (silent.length > 0) for (const giveUp of this.#waiting) giveUp();
    const { log, onChange } = this.#options;
    if (silent.length === 0) log.info({}, 'the databases of the hub answer again');
    else log.warn({ databases: names }, 'databases of the hub do not answer: members receive no changes');
    onChange();
  }
}
