/**
 * Keeps the node's InterconnectGateway told: its object → peers and siblings → what the local Open vSwitch and probes say
 * of each → what the daemon says in its status. In: the object and the sources, which it watches.
 * Called by main.ts, nobody else.
 */
import type { OvsdbClient } from 'ovsdb-client';
import type { GatewayProgram } from '../../lib/api/kinds/interconnect-gateway.ts';
import type { KubeClient, Reflector } from '../../lib/kube/types.ts';
import { ObjectWriter } from '../../lib/kube/writer.ts';
import type { Logger } from '../../lib/run/logger.ts';
import { checkEveryMs } from '../plan/sibling-checks.ts';
import type { InterconnectGateway } from '../model/interconnect.ts';
import { Prober } from '../watch/probes.ts';
import type { ProgramWatch } from '../watch/programs.ts';
import { TunnelWatch } from '../watch/tunnels.ts';
import { GatewayStatusWriter } from './gateway.ts';
import type { GatewayFigures } from './gateway-metrics.ts';

export interface GatewayReportOptions {
  readonly client: Pick<KubeClient, 'request'>;
  readonly ovs: OvsdbClient;
  readonly programs: Pick<ProgramWatch, 'down' | 'subscribe'>;
  /** Of this node's object only. */
  readonly gateways: Pick<Reflector<InterconnectGateway>, 'get' | 'subscribe'>;
  readonly node: string;
  /** Tunnel address of the node. */
  readonly source: string;
  readonly signal: AbortSignal;
  readonly log: Logger;
}

/** While the API server does not answer: a path that comes back is news that others wait for. */
const longestRetryMs = 2000;

export class GatewayReport {
  readonly #options: GatewayReportOptions;
  readonly #tunnels: TunnelWatch;
  readonly #prober: Prober;
  readonly #writer: ObjectWriter;
  readonly #status: GatewayStatusWriter;
  #refused = '';
  #checks: NodeJS.Timeout | undefined;
  #everyMs = 0;

  constructor(options: GatewayReportOptions) {
    this.#options = options;
    const { client, ovs, programs, source, signal, log } = options;
    const isSwitchDown = (): boolean => programs.down.some(({ program }) => program === 'ovs-vswitchd');
    const now = (): Date => new Date();
    this.#tunnels = new TunnelWatch({ ovs, isSwitchDown, programs });
    this.#prober = new Prober({ source, now });
    this.#writer = new ObjectWriter({ signal, log, timing: { maxMs: longestRetryMs } });
    this.#status = new GatewayStatusWriter({ client, writer: this.#writer, now });
    this.#tunnels.subscribe(() => this.#tell());
    this.#prober.subscribe(() => this.#tell());
    programs.subscribe(() => this.#tell());
    options.gateways.subscribe(() => this.#onObject());
    this.#onObject();
  }

  get figures(): GatewayFigures {
    return this.#status.current;
  }

  async close(): Promise<void> {
    clearInterval(this.#checks);
    this.#tunnels.close();
    this.#prober.close();
    await this.#writer.close();
  }

  get #gateway(): InterconnectGateway | undefined {
    return this.#options.gateways.get(this.#options.node);
  }

  #onObject(): void {
    const { peers = [], siblings = [], wantedMtu, refused = [] } = this.#gateway ?? {};
    this.#prober.set({ peers, wantedMtu });
    this.#checkEvery(checkEveryMs(siblings));
    this.#tell();
    if (refused.join() === this.#refused) return;
    this.#refused = refused.join();
    for (const sentence of refused) this.#options.log.warn({ node: this.#options.node }, sentence);
  }

  #checkEvery(ms: number): void {
    if (ms === this.#everyMs) return;
    this.#everyMs = ms;
    clearInterval(this.#checks);
    this.#checks = setInterval(() => this.#tell(), ms).unref();
  }

  get #silentPrograms(): readonly GatewayProgram[] {
    const database = this.#tunnels.isDatabaseAway ? (['ovsdb-server'] as const) : [];
    return [...this.#options.programs.down.map(({ program }) => program), ...database].sort();
  }

  #tell(): void {
    const { tunnels, isSwitchDown, isDatabaseAway } = this.#tunnels;
    const local = { tunnels, isSwitchDown, isDatabaseAway, silentPrograms: this.#silentPrograms };
    this.#status.tell(this.#gateway, local, this.#prober.results);
  }
}
