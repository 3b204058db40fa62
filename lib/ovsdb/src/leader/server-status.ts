/**
 * Watches the server's own state in its `_Server` database (ovsdb-server(7)): whether it is connected to its raft
 * cluster, and whether it is the leader. Reported before any other request to a server, and on every change.
 */
import { OvsdbConnectionLost, OvsdbRequestRefused } from '../errors.ts';
import type { Session } from '../rpc/session.ts';

type Json = Readonly<Record<string, unknown>>;

const monitorId = 'server-status';

export interface StatusRule {
  readonly database: string;
  /** See OvsdbOptions. */
  readonly leaderOnly: boolean;
}

export class ServerStatus {
  readonly #rule: StatusRule;
  readonly #session: Session;

  constructor(session: Session, rule: StatusRule) {
    this.#session = session;
    this.#rule = rule;
  }

  /** Resolves when the server will do; ends the session as soon as it no longer does. @throws as Session.call, OvsdbConnectionLost */
  async watch(): Promise<void> {
    const request = { Database: [{ columns: ['name', 'model', 'connected', 'leader'] }] };
    try {
      await this.#session.call('monitor', ['_Server', monitorId, request], { take: (dump) => this.#takeDump(dump) });
    } catch (error) {
      // Before OVS 2.9 there was no such database, nor clusters.
      if (!(error instanceof OvsdbRequestRefused) || error.error !== 'unknown database') throw error;
    }
  }

  /** A notification of the session; those of other monitors are left alone. */
  receive(method: string, params: readonly unknown[]): void {
    if (method !== 'update' || params[0] !== monitorId) return;
    for (const { before, after } of rows(params[1])) {
      if (after?.['name'] === this.#rule.database) this.#judge(after);
      else if (after === undefined && before?.['name'] === this.#rule.database) this.#leave('has dropped it', false);
    }
  }

  #takeDump(dump: unknown): void {
    const row = rows(dump).find(({ after }) => after?.['name'] === this.#rule.database)?.after;
    if (row === undefined) this.#leave('does not have it', false);
    else this.#judge(row);
  }

  #judge(row: Json): void {
    if (row['model'] === 'standalone') return;
    if (row['connected'] !== true) this.#leave('is not in contact with its cluster');
    else if (this.#rule.leaderOnly && row['model'] === 'clustered' && row['leader'] !== true)
      this.#leave('is not the leader of its cluster');
  }

  #leave(why: string, isElsewhere = true): void {
    this.#session.end(
      new OvsdbConnectionLost(`server is of no use for ${this.#rule.database}: it ${why}`, { sent: true, isElsewhere }),
    );
  }
}

function rows(updates: unknown): readonly { readonly before: Json | undefined; readonly after: Json | undefined }[] {
  const table = (updates as { Database?: Readonly<Record<string, { old?: Json; new?: Json }>> }).Database ?? {};
  return Object.values(table).map((row) => ({ before: row.old, after: row.new }));
}
