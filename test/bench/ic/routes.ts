/** Watches the static routes of a cluster in its northbound database. */
import { join } from 'node:path';
import { openOvsdb, type OvsdbClient } from 'ovsdb-client';
import type { ClusterLayout } from '../../lab/layout.ts';

const table = 'Logical_Router_Static_Route';

export class RouteWatch {
  readonly #client: OvsdbClient;

  private constructor(client: OvsdbClient) {
    this.#client = client;
  }

  static async open({ dir }: Pick<ClusterLayout, 'dir'>): Promise<RouteWatch> {
    const client = await openOvsdb({
      remotes: [`unix:${join(dir, 'nb.sock')}`],
      database: 'OVN_Northbound',
      monitor: { [table]: ['ip_prefix', 'nexthop'] },
      indexes: { [table]: [['ip_prefix']] },
    });
    return new RouteWatch(client);
  }

  /** Number of routes, counted without reading each one, which would take CPU time from the measured programs. */
  get size(): number {
    return this.#client.cache.table(table).rows.size;
  }

  has(prefix: string): boolean {
    return this.#client.cache.table(table).byIndex(['ip_prefix'], [prefix]).length > 0;
  }

  /** Prefixes of routes; a prefix occurs once per next hop. */
  prefixes(): string[] {
    return [...this.#client.cache.table(table).rows.values()].map((row) => row['ip_prefix'] as string);
  }

  /** When `isSo` first held, by performance.now(). @throws Error if it does not in time. */
  until(what: string, isSo: (routes: RouteWatch) => boolean, timeoutMs = 60_000): Promise<number> {
    if (isSo(this)) return Promise.resolve(performance.now());
    return new Promise((resolve, reject) => {
      const end = (): void => {
        stop();
        clearTimeout(timer);
      };
      const stop = this.#client.subscribe((changes) => {
        const now = performance.now();
        if (!changes.some((change) => change.table === table) || !isSo(this)) return;
        end();
        resolve(now);
      });
      const timer = setTimeout(() => {
        end();
        reject(new Error(`waited ${String(timeoutMs / 1000)} s for ${what}; there are ${this.size} routes`));
      }, timeoutMs);
    });
  }

  /** When a prefix has a route, or has none any more. */
  untilPrefix(prefix: string, isThere: boolean, timeoutMs?: number): Promise<number> {
    const what = `${prefix} to ${isThere ? 'have a route' : 'have none'}`;
    return this.until(what, (routes) => routes.has(prefix) === isThere, timeoutMs);
  }

  close(): Promise<void> {
    return this.#client.close();
  }
}
