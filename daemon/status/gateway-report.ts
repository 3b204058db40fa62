/**
 * Keeps the status of the node's InterconnectGateway up to date: for each of its peers and siblings, the state of the tunnel in the local
 * Open vSwitch and the result of the last probe.
 */
import type {
  GatewayPeer,
  GatewayProbe,
  GatewayProgram,
  GatewayWireGuard,
} from '../../lib/api/kinds/interconnect-gateway.ts';
import type { KubeClient, Reflector } from '../../lib/kube/types.ts';
import { ObjectWriter } from '../../lib/kube/writer.ts';
import type { Logger } from '../../lib/run/logger.ts';
import { checkEveryMs } from '../plan/sibling-checks.ts';
import type { InterconnectGateway } from '../model/interconnect.ts';
import type { DownProgram } from '../model/program.ts';
import { GatewayStatusWriter, type LocalView } from './gateway.ts';
import type { GatewayMetrics } from './gateway-metrics.ts';

interface Changing {
  subscribe(listener: () => void): void;
}

export interface GatewayReportOptions {
  readonly client: Pick<KubeClient, 'request'>;
  readonly tunnels: Omit<LocalView, 'silentPrograms' | 'wireGuard'> & Changing;
  readonly programs: { readonly down: readonly DownProgram[] } & Changing;
  readonly prober: Changing & {
    /** By chassis. */
    readonly results: ReadonlyMap<string, GatewayProbe>;
    set(targets: { readonly peers: readonly GatewayPeer[]; readonly wantedMtu: number | undefined }): void;
  };
  readonly wireGuard: { readonly report: GatewayWireGuard | undefined } & Changing;
  /** The store has the object of this node only. */
  readonly gateways: Pick<Reflector<InterconnectGateway>, 'get' | 'subscribe'>;
  readonly node: string;
  readonly signal: AbortSignal;
  readonly log: Logger;
}

/** Retries while the API server does not answer: others wait to hear that a path is back. */
const longestRetryMs = 2000;

export class GatewayReport {
  readonly #options: GatewayReportOptions;
  readonly #writer: ObjectWriter;
  readonly #status: GatewayStatusWriter;
  #refused = '';
  #checks: NodeJS.Timeout | undefined;
  #everyMs = 0;

  constructor(options: GatewayReportOptions) {
    this.#options = options;
    const { client, tunnels, prober, programs, wireGuard, signal, log } = options;
    this.#writer = new ObjectWriter({ signal, log, timing: { maxMs: longestRetryMs } });
    this.#status = new GatewayStatusWriter({ client, writer: this.#writer, now: () => new Date() });
    for (const source of [tunnels, prober, programs, wireGuard]) source.subscribe(() => this.#publish());
    options.gateways.subscribe(() => this.#onObject());
    this.#onObject();
  }

  get figures(): GatewayMetrics {
    return this.#status.current;
  }

  async close(): Promise<void> {
    clearInterval(this.#checks);
    await this.#writer.close();
  }

  get #gateway(): InterconnectGateway | undefined {
    return this.#options.gateways.get(this.#options.node);
  }

  #onObject(): void {
    const { peers = [], siblings = [], wantedMtu, refused = [] } = this.#gateway ?? {};
    this.#options.prober.set({ peers, wantedMtu });
    this.#checkEvery(checkEveryMs(siblings));
    this.#publish();
    if (refused.join() === this.#refused) return;
    this.#refused = refused.join();
    for (const sentence of refused) this.#options.log.warn({ node: this.#options.node }, sentence);
  }

  #checkEvery(ms: number): void {
    if (ms === this.#everyMs) return;
    this.#everyMs = ms;
    clearInterval(this.#checks);
    this.#checks = setInterval(() => this.#publish(), ms).unref();
  }

  get #silentPrograms(): readonly GatewayProgram[] {
    const database = this.#options.tunnels.isDatabaseAway ? (['ovsdb-server'] as const) : [];
    return [...this.#options.programs.down.map(({ program }) => program), ...database].sort();
  }

  #publish(): void {
    const { tunnels, isSwitchDown, isDatabaseAway } = this.#options.tunnels;
    const { report: wireGuard } = this.#options.wireGuard;
    const local = { tunnels, isSwitchDown, isDatabaseAway, silentPrograms: this.#silentPrograms, wireGuard };
    this.#status.publish(this.#gateway, local, this.#options.prober.results);
  }
}
