/**
 * The logical flows of ACLs in the southbound database, and what they say about policies. Only their matches and places are mirrored. Any
 * member of the database serves, because a late answer does no harm. `status/policy-counters.ts` looks for them in the bridge. Nothing but metrics
 * needs them: a failure is logged, and tried again.
 */
import { openOvsdb, type OvsdbClient, type Row, type TlsFiles } from 'ovsdb-client';
import { integerOf, textOf } from '../../lib/ovn/columns.ts';
import { readAclText } from '../../lib/policies/acl-text.ts';
import { connectionLog } from '../../lib/run/connection-log.ts';
import type { Logger } from '../../lib/run/logger.ts';
import { waitAtMost, waitUntil, type Subscribe } from '../../lib/run/wait-until.ts';
import type { AclFlow } from '../model/acl-flow.ts';

export interface LogicalFlowsOptions {
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

const defaultRetryMs = 60_000;

/** Stages in which policies judge packets. OVN 23.09 has renamed them. */
const stages = ['ls_out_acl', 'ls_in_acl_after_lb', 'ls_out_acl_eval', 'ls_in_acl_after_lb_eval'];

export class LogicalFlows {
  readonly #flows = new WeakMap<Row, AclFlow | null>();
  readonly #options: LogicalFlowsOptions;
  readonly #closing = new AbortController();
  readonly #listeners = new Set<() => void>();
  #client: OvsdbClient | undefined;

  constructor(options: LogicalFlowsOptions) {
    this.#options = options;
    options.onRemotes(() => {
      for (const listener of this.#listeners) listener();
    });
    void this.#open();
  }

  /** By cookie, with which the flows in the bridge begin; undefined until the database has answered. */
  get acls(): ReadonlyMap<number, AclFlow> | undefined {
    if (this.#client === undefined) return undefined;
    const acls = new Map<number, AclFlow>();
    const shared = new Set<number>();
    for (const row of this.#client.cache.table('Logical_Flow').rows.values()) {
      const acl = this.#aclOf(row);
      if (acl === null) continue;
      const cookie = Number.parseInt(row._uuid.slice(0, 8), 16);
      if (acls.has(cookie)) shared.add(cookie);
      acls.set(cookie, acl);
    }
    // The packets of two of them whose uuids begin alike cannot be distinguished.
    for (const cookie of shared) acls.delete(cookie);
    return acls;
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#client?.close();
  }

  async #open(): Promise<void> {
    const { remotes, log, retryMs = defaultRetryMs } = this.#options;
    const signal = AbortSignal.any([this.#options.signal, this.#closing.signal]);
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
        log.warn({ err: error, remotes: tried }, 'the logical flows of policies cannot be read now; trying again');
        await waitAtMost([onRemotes, onAbort], () => signal.aborted || remotes().join() !== tried.join(), retryMs);
      }
    }
  }

  #connect(signal: AbortSignal): Promise<OvsdbClient> {
    const { remotes, tls, log } = this.#options;
    const database = 'OVN_Southbound';
    return openOvsdb({
      remotes,
      database,
      monitor: { Logical_Flow: ['match', 'pipeline', 'table_id'] },
      where: { Logical_Flow: stages.map((stage) => ['external_ids', 'includes', { 'stage-name': stage }] as const) },
      leaderOnly: false,
      ...(tls && { tls }),
      onState: connectionLog({ log, signal, database, remotes: remotes() }),
      signal,
    });
  }

  #aclOf(row: Row): AclFlow | null {
    const known = this.#flows.get(row);
    if (known !== undefined) return known;
    const origin = readAclText(textOf(row, 'match'));
    const pipeline = textOf(row, 'pipeline') === 'egress' ? 'egress' : 'ingress';
    const acl = origin === undefined ? null : ({ ...origin, pipeline, stage: integerOf(row, 'table_id') } as const);
    this.#flows.set(row, acl);
    return acl;
  }
}
