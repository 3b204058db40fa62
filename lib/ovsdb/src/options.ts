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
  const remotes = parseRemotes(options);
  return {
    remotes,
    leaderOnly: options.leaderOnly ?? (typeof options.remotes === 'function' || remotes.length > 1),
    probeIntervalMs: options.probeIntervalMs ?? defaultProbeIntervalMs,
  };
}

/** @throws TypeError with the reason */
export function parseRemotes({ remotes: given, tls }: Pick<OvsdbOptions, 'remotes' | 'tls'>): readonly Remote[] {
  const remotes = (typeof given === 'function' ? given() : given).map(parseRemote);
  if (remotes.length === 0) throw new TypeError('remotes is empty: name at least one server');
  const secured = remotes.find((remote) => remote.kind === 'ssl');
  if (secured !== undefined && tls === undefined)
    throw new TypeError(`remote ${secured.text} needs tls: a CA, a certificate and a key`);
  return remotes;
}
