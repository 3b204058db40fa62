import type { OvsdbOptions } from './client-types.ts';
import { parseRemote, type Remote } from './rpc/remote.ts';

export interface ClientSettings {
  readonly remotes: readonly Remote[];
  readonly leaderOnly: boolean;
  readonly probeIntervalMs: number;
}

const defaultProbeIntervalMs = 10_000;

/** Checks the options and fills in defaults. @throws TypeError naming the option */
export function settle(options: OvsdbOptions): ClientSettings {
  const remotes = options.remotes.map(parseRemote);
  if (remotes.length === 0) throw new TypeError('remotes is empty: name at least one server');
  const secured = remotes.find((remote) => remote.kind === 'ssl');
  if (secured !== undefined && options.tls === undefined)
    throw new TypeError(`remote ${secured.text} needs tls: a CA, a certificate and a key`);
  return {
    remotes,
    leaderOnly: options.leaderOnly ?? remotes.length > 1,
    probeIntervalMs: options.probeIntervalMs ?? defaultProbeIntervalMs,
  };
}
