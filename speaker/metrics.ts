import { Counter, Gauge, type Registry } from 'prom-client';
import { countTold } from './plan/peer-status.ts';
import type { SpeakerPlan } from './plan/plan.ts';
import type { Observed } from './state/observed.ts';

/** Keeps the speaker's metrics; sessions are few, so each may be a series. */
export class SpeakerMetrics {
  readonly #up: Gauge<'peer' | 'address'>;
  readonly #advertised: Gauge<'peer' | 'address'>;
  readonly #daemonUp: Gauge;
  readonly #prefixes: Gauge;
  readonly #lost: Counter;
  readonly #calls: Counter<'method'>;
  #wasReachable = true;

  constructor(registry: Registry) {
    const registers = [registry];
    const labelNames = ['peer', 'address'] as const;
    this.#up = new Gauge({
      name: 'isthmus_speaker_session_up',
      help: '1 while the BGP session is established',
      labelNames,
      registers,
    });
    this.#advertised = new Gauge({
      name: 'isthmus_speaker_session_advertised_prefixes',
      help: 'Prefixes the peer was told',
      labelNames,
      registers,
    });
    this.#daemonUp = new Gauge({ name: 'isthmus_speaker_gobgpd_up', help: '1 while gobgpd answers', registers });
    this.#prefixes = new Gauge({
      name: 'isthmus_speaker_wanted_prefixes',
      help: 'Prefixes this node announces',
      registers,
    });
    this.#lost = new Counter({
      name: 'isthmus_speaker_gobgpd_lost_total',
      help: 'How often gobgpd stopped answering',
      registers,
    });
    this.#calls = new Counter({
      name: 'isthmus_speaker_gobgpd_calls_total',
      help: 'Calls to gobgpd by method; ListPath reads the whole table',
      labelNames: ['method'],
      registers,
    });
  }

  countCall(method: string): void {
    this.#calls.inc({ method });
  }

  set(plan: SpeakerPlan, observed: Observed): void {
    const { isReachable } = observed.daemon;
    if (this.#wasReachable && !isReachable) this.#lost.inc();
    this.#wasReachable = isReachable;
    this.#daemonUp.set(isReachable ? 1 : 0);
    this.#prefixes.set(plan.table.routes.size);
    this.#up.reset();
    this.#advertised.reset();
    for (const wanted of plan.peers.values()) {
      const { name: peer, address } = wanted;
      const session = observed.sessions.get(address);
      this.#up.set({ peer, address }, session?.state === 'Established' ? 1 : 0);
      const told = countTold(plan, wanted);
      if (session?.state === 'Established') this.#advertised.set({ peer, address }, told.ipv4 + told.ipv6);
    }
  }
}
