/** A cluster's static routes as they come and go, told by the database itself. */
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
    });
    return new RouteWatch(client);
  }

  /** Prefixes of routes; one that has several next hops is there as often. */
  prefixes(): string[] {
    return [...this.#client.cache.table(table).rows.values()].map((row) => row['ip_prefix'] as string);
  }

  /** When `isSo` first held for the prefixes, by performance.now(). @throws Error if it does not in time. */
  until(what: string, isSo: (prefixes: readonly string[]) => boolean, timeoutMs = 60_000): Promise<number> {
    if (isSo(this.prefixes())) return Promise.resolve(performance.now());
    return new Promise((resolve, reject) => {
      const end = (): void => {
        stop();
        clearTimeout(timer);
      };
      const stop = this.#client.subscribe((changes) => {
        const now = performance.now();
        if (!changes.some((change) => change.table === table) || !isSo(this.prefixes())) return;
        end();
        resolve(now);
      });
      const timer = setTimeout(() => {
        end();
        reject(
          new Error(`waited ${String(timeoutMs / 1000)} s for ${what}; there are ${this.prefixes().length} routes`),
        );
      }, timeoutMs);
    });
  }

  /** When a prefix has a route, or has none any more. */
  untilPrefix(prefix: string, isThere: boolean, timeoutMs?: number): Promise<number> {
    const what = `${prefix} to ${isThere ? 'have a route' : 'have none'}`;
    return this.until(what, (prefixes) => prefixes.includes(prefix) === isThere, timeoutMs);
  }

  close(): Promise<void> {
    return this.#client.close();
  }
}
