import type { Problem } from '../../lib/desired/problem.ts';
import type { EventRecorder } from '../../lib/kube/events.ts';
import type { KubeClient } from '../../lib/kube/types.ts';
import type { View } from '../model/view.ts';
import type { PendingWrites } from './pending-writes.ts';

/** What everybody who writes to Kubernetes works with. */
export interface Desk {
  readonly view: View;
  readonly client: KubeClient;
  readonly told: Pick<PendingWrites, 'write' | 'forget'>;
  readonly events: Pick<EventRecorder, 'record'>;
  readonly database: {
    hasPort(name: string, addresses?: string): boolean;
    hasSwitch(name: string): boolean;
    /** The uuid of the row of DHCP options with this key. */
    dhcpOptions(key: string): string | undefined;
    hasRouter(name: string): boolean;
  };
  /** The database error for a key's rows. */
  readonly refused: (key: string) => Problem | undefined;
  readonly nowMs: () => number;
}

/** The entries of `wanted` that `observed` does not have so; null wants an entry absent. */
export function differing<T>(
  wanted: Readonly<Record<string, T | null>>,
  observed: Readonly<Record<string, unknown>>,
): Readonly<Record<string, T | null>> | undefined {
  const entries = Object.entries(wanted).filter(([key, value]) => (observed[key] ?? null) !== value);
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}
