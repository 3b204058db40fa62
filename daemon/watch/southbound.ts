/**
 * A mirror of a part of the southbound database, for a part of the daemon that can do without it. Any member of the database serves. A failure to open it is logged, and tried
 * again; remotes that change are followed.
 */
import { join } from 'node:path';
import { openOvsdb, type Condition, type OvsdbClient, type TlsFiles } from 'ovsdb-client';
import { connectionLog } from '../../lib/run/connection-log.ts';
import type { Logger } from '../../lib/run/logger.ts';
import { waitAtMost, waitUntil, type Subscribe } from '../../lib/run/wait-until.ts';

/** How the database is reached. */
export interface SouthboundAccess {
  /** Empty until they are known. */
  readonly remotes: () => readonly string[];
  /** Called once, with a listener for changes of the remotes. */
  readonly onRemotes: (listener: () => void) => void;
  /** Used for remotes that need it. */
  readonly tls?: TlsFiles;
  readonly signal: AbortSignal;
  readonly log: Pick<Logger, 'info' | 'warn'>;
  /** Milliseconds after which a failure is tried again with the same remotes; default one minute. */
  readonly retryMs?: number;
}

/** Where the remotes come from, which may change. */
interface RemotesSource {
  readonly southbound: { readonly remotes: readonly string[] };
  subscribe(listener: () => void): void;
}

/** @param tlsFolder has `ca.crt`, `tls.crt` and `tls.key` */
export function southboundAccess(
  source: RemotesSource,
  tlsFolder: string,
): Pick<SouthboundAccess, 'remotes' | 'onRemotes' | 'tls'> {
  const [ca = '', cert = '', key = ''] = ['ca.crt', 'tls.crt', 'tls.key'].map((name) => join(tlsFolder, name));
  return {
    remotes: () => source.southbound.remotes,
    onRemotes: (listener) => source.subscribe(listener),
    tls: { ca, cert, key },
  };
}

export interface SouthboundPart {
  /** What cannot be read after a failure, for the log. */
  readonly what: string;
  readonly monitor: Readonly<Record<string, readonly string[]>>;
  readonly where: Readonly<Record<string, readonly Condition[]>>;
  /** Called once, when the database has answered. */
  readonly onOpen?: (client: OvsdbClient) => void;
}

const defaultRetryMs = 60_000;

export class SouthboundMirror {
  readonly #access: SouthboundAccess;
  readonly #part: SouthboundPart;
  readonly #closing = new AbortController();
  readonly #listeners = new Set<() => void>();
  #client: OvsdbClient | undefined;

  constructor(access: SouthboundAccess, part: SouthboundPart) {
    this.#access = access;
    this.#part = part;
    access.onRemotes(() => {
      for (const listener of this.#listeners) listener();
    });
    void this.#open();
  }

  /** Undefined until the database has answered. */
  get client(): OvsdbClient | undefined {
    return this.#client;
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#client?.close();
  }

  async #open(): Promise<void> {
    const { remotes, log, retryMs = defaultRetryMs } = this.#access;
    const signal = AbortSignal.any([this.#access.signal, this.#closing.signal]);
    const onRemotes: Subscribe = (check) => {
      this.#listeners.add(check);
      return () => this.#listeners.delete(check);
    };
    const onAbort: Subscribe = (check) => {
      signal.addEventListener('abort', check);
      return () => signal.removeEventListener('abort', check);
    };
    while (this.#client === undefined) {
      let tried: readonly string[] = [];
      try {
        tried = await waitUntil([onRemotes], () => (remotes().length > 0 ? remotes() : undefined), signal);
        this.#client = await this.#connect(signal);
      } catch (error) {
        if (signal.aborted) return;
        if (!(error instanceof Error)) throw error;
        log.warn({ err: error, remotes: tried }, `${this.#part.what} cannot be read now; trying again`);
        await waitAtMost([onRemotes, onAbort], () => signal.aborted || remotes().join() !== tried.join(), retryMs);
      }
    }
    this.#part.onOpen?.(this.#client);
  }

  #connect(signal: AbortSignal): Promise<OvsdbClient> {
    const { remotes, tls, log } = this.#access;
    const { monitor, where } = this.#part;
    const database = 'OVN_Southbound';
    return openOvsdb({
      remotes,
      database,
      monitor,
      where,
      leaderOnly: false,
      ...(tls && { tls }),
      onState: connectionLog({ log, signal, database, remotes: remotes() }),
      signal,
    });
  }
}
