/**
 * The logical flows of ACLs in the southbound database, and what they say about policies. Only their matches are mirrored. Any member of the
 * database serves, because a late answer does no harm. `status/policy-counters.ts` looks for them in the bridge.
 */
import { openOvsdb, type OvsdbClient, type Row, type TlsFiles } from 'ovsdb-client';
import { readAclText, type AclOrigin } from '../../lib/policies/acl-text.ts';
import { connectionLog } from '../../lib/run/connection-log.ts';
import type { Logger } from '../../lib/run/logger.ts';
import { waitUntil } from '../../lib/run/wait-until.ts';
import { textOf } from '../../lib/ovn/columns.ts';

export interface LogicalFlowsOptions {
  /** Empty until they are known. */
  readonly remotes: () => readonly string[];
  /** Called once, with a listener for changes of the remotes. */
  readonly onRemotes: (listener: () => void) => void;
  /** Used for remotes that need it. */
  readonly tls?: TlsFiles;
  readonly signal: AbortSignal;
  readonly log: Logger;
}

/** Stages in which policies judge packets. OVN 23.09 has renamed them. */
const stages = ['ls_out_acl', 'ls_in_acl_after_lb', 'ls_out_acl_eval', 'ls_in_acl_after_lb_eval'];

export class LogicalFlows {
  readonly #texts = new WeakMap<Row, AclOrigin | null>();
  readonly #options: LogicalFlowsOptions;
  readonly #closing = new AbortController();
  #client: OvsdbClient | undefined;

  constructor(options: LogicalFlowsOptions) {
    this.#options = options;
    void this.#open();
  }

  /** By cookie, with which the flows in the bridge begin; undefined until the database has answered. */
  get origins(): ReadonlyMap<number, AclOrigin> | undefined {
    if (this.#client === undefined) return undefined;
    const origins = new Map<number, AclOrigin>();
    const shared = new Set<number>();
    for (const row of this.#client.cache.table('Logical_Flow').rows.values()) {
      const origin = this.#originOf(row);
      if (origin === null) continue;
      const cookie = Number.parseInt(row._uuid.slice(0, 8), 16);
      if (origins.has(cookie)) shared.add(cookie);
      origins.set(cookie, origin);
    }
    // The packets of two logical flows whose uuids begin alike cannot be told apart.
    for (const cookie of shared) origins.delete(cookie);
    return origins;
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#client?.close();
  }

  async #open(): Promise<void> {
    const { remotes, tls, log } = this.#options;
    const signal = AbortSignal.any([this.#options.signal, this.#closing.signal]);
    const database = 'OVN_Southbound';
    const onRemotes = (check: () => void): (() => void) => {
      this.#options.onRemotes(check);
      return () => undefined;
    };
    try {
      await waitUntil([onRemotes], () => (remotes().length > 0 ? true : undefined), signal);
      this.#client = await openOvsdb({
        remotes,
        database,
        monitor: { Logical_Flow: ['match'] },
        where: { Logical_Flow: stages.map((stage) => ['external_ids', 'includes', { 'stage-name': stage }] as const) },
        leaderOnly: false,
        ...(tls && { tls }),
        onState: connectionLog({ log, signal, database, remotes: remotes() }),
        signal,
      });
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  #originOf(row: Row): AclOrigin | null {
    const known = this.#texts.get(row);
    if (known !== undefined) return known;
    const origin = readAclText(textOf(row, 'match')) ?? null;
    this.#texts.set(row, origin);
    return origin;
  }
}
