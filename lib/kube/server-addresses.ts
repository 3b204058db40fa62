/**
 * Addresses of the API server, from the kubeconfig's server or KUBERNETES_SERVICE_HOST. A name is resolved again every minute.
 * While that fails, the last known addresses stay, because the name server itself may be unreachable.
 */
import { lookup } from 'node:dns/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { formatIp, parseIp } from '../net/ip.ts';
import type { Logger } from '../run/logger.ts';
import { loadEndpoint } from './config.ts';

export interface ServerAddressesOptions {
  /** Path of the file; without it the pod's service account is used. */
  readonly kubeconfig: string | undefined;
  readonly signal: AbortSignal;
  readonly log: Pick<Logger, 'warn'>;
  /** Called after the addresses changed. */
  readonly onChange: () => void;
}

const againMs = 60_000;

export class ServerAddresses {
  /** Resolves after the first lookup. */
  readonly known: Promise<void>;
  readonly #options: ServerAddressesOptions;
  #all: readonly string[] = [];

  constructor(options: ServerAddressesOptions) {
    this.#options = options;
    this.known = this.#look();
    void this.known.then(() => this.#follow());
  }

  get all(): readonly string[] {
    return this.#all;
  }

  async #follow(): Promise<void> {
    const { signal } = this.#options;
    while (!signal.aborted) {
      await sleep(againMs, undefined, { signal, ref: false }).catch(() => undefined);
      if (!(signal.aborted as boolean)) await this.#look();
    }
  }

  async #look(): Promise<void> {
    const { kubeconfig, log, onChange } = this.#options;
    try {
      const { hostname } = (await loadEndpoint(kubeconfig, process.env)).server;
      const all = (await addressesOf(hostname)).toSorted();
      const isChanged = all.join() !== this.#all.join();
      this.#all = all;
      if (isChanged) onChange();
    } catch (error) {
      log.warn(
        { err: error instanceof Error ? error.message : String(error) },
        'the addresses of the API server could not be refreshed; the last known ones stay in use',
      );
    }
  }
}

async function addressesOf(hostname: string): Promise<string[]> {
  const ip = parseIp(hostname.replace(/^\[(.*)\]$/, '$1'));
  if (ip !== undefined) return [formatIp(ip)];
  return (await lookup(hostname, { all: true })).map(({ address }) => address);
}
