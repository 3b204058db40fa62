/** The speaker's metrics: gauges are computed at a scrape (metrics/), events are counted here. */
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { ObjectWriter } from '../../lib/kube/writer.ts';
import { aliasSeries } from './metrics/aliases.ts';
import { nodeSeries } from './metrics/node.ts';
import { registerScraped } from './metrics/scraped.ts';
import { sessionSeries } from './metrics/sessions.ts';
import type { SpeakerView } from './metrics/view.ts';

const prefix = 'isthmus_speaker';
const lagSeconds = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10];

export class SpeakerMetrics {
  readonly #lost: Counter;
  readonly #audits: Counter;
  readonly #differences: Counter;
  readonly #lag: Histogram;
  readonly #writes: Counter<'kind' | 'outcome'>;
  readonly #calls: Counter<'method'>;
  #view: SpeakerView | undefined;

  /** @param pendingMs age of the oldest change that gobgpd has not confirmed */
  constructor(registry: Registry, pendingMs: () => number) {
    const registers = [registry];
    const counter = (name: string, help: string): Counter =>
      new Counter({ name: `${prefix}_${name}`, help, registers });
    this.#lost = counter('gobgpd_lost_total', 'How often gobgpd stopped answering');
    this.#audits = counter('audits_total', 'How often everything in gobgpd was read anew to look for differences');
    this.#differences = counter('audit_differences_total', 'Prefixes that an audit found changed by another program');
    this.#lag = new Histogram({
      name: `${prefix}_update_lag_seconds`,
      help: 'From a change seen in Kubernetes to the answer of gobgpd for its prefixes',
      buckets: lagSeconds,
      registers,
    });
    const pending: Gauge = new Gauge({
      name: `${prefix}_update_pending_seconds`,
      help: 'How long the oldest change that gobgpd has not answered has waited; 0 if there is none',
      registers,
      collect: () => pending.set(pendingMs() / 1000),
    });
    this.#writes = new Counter({
      name: `${prefix}_status_writes_total`,
      help: 'Writes of statuses by kind, and what became of them',
      labelNames: ['kind', 'outcome'],
      registers,
    });
    this.#calls = new Counter({
      name: 'isthmus_speaker_gobgpd_calls_total',
      help: 'Calls to gobgpd by method; ListPath reads the whole table',
      labelNames: ['method'],
      registers,
    });
    registerScraped(registry, [...sessionSeries, ...nodeSeries, ...aliasSeries], () => this.#view);
  }

  countCall(method: string): void {
    this.#calls.inc({ method });
  }

  /** Sets the view that scrapes read. */
  set(view: SpeakerView): void {
    if (this.#view?.observed.daemon.isReachable && !view.observed.daemon.isReachable) this.#lost.inc();
    this.#view = view;
  }

  answered(lagMs: number): void {
    this.#lag.observe(lagMs / 1000);
  }

  audited(differing: number): void {
    this.#audits.inc();
    this.#differences.inc(differing);
  }

  /** Wraps a writer to count the outcomes of its writes. */
  counting(writer: Pick<ObjectWriter, 'enqueue'>): Pick<ObjectWriter, 'enqueue'> {
    return {
      enqueue: async (key, write) => {
        const outcome = await writer.enqueue(key, write);
        const [kind = ''] = key.split('/');
        this.#writes.inc({ kind, outcome: outcome instanceof Error ? 'refused' : outcome });
        return outcome;
      },
    };
  }
}
