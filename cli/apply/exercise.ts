/**
 * Drains each gateway in turn and ends the drain, checking that a path to every other cluster remains. In: functions
 * that read and drain. Out: one check per gateway. A gateway that was drained here is always restored, whatever
 * happens.
 */
import { usableGateways } from '../plan/diagnose/gateways.ts';
import type { Check } from '../plan/verify.ts';
import type { Snapshot } from '../model/snapshot.ts';
import { pathsThrough } from './drain.ts';
import { waitFor, type Patience } from './wait.ts';

export interface Bench {
  readonly look: () => Promise<Snapshot>;
  readonly drain: (node: string, drain: boolean) => Promise<void>;
  readonly note: (text: string) => void;
}

/** Gateways that can be drained in turn; empty if no other gateway would remain, or if one is already drained by a user. */
export function drainable(snapshot: Snapshot): readonly string[] {
  const gateways = usableGateways(snapshot);
  return gateways.length < 2 || gateways.some(({ isDrained }) => isDrained) ? [] : gateways.map(({ node }) => node);
}

export async function exerciseGateways(
  bench: Bench,
  nodes: readonly string[],
  patience: Patience,
): Promise<readonly Check[]> {
  const checks: Check[] = [];
  for (const node of nodes) checks.push(await exercise(bench, node, patience));
  return checks;
}

async function exercise({ look, drain, note }: Bench, node: string, patience: Patience): Promise<Check> {
  const cut = new Set<string>();
  note(`draining ${node} …\n`);
  let cluster = '';
  await drain(node, true);
  try {
    const moved = await waitFor(async () => {
      const now = await look();
      cluster = now.label;
      for (const name of unreached(now)) cut.add(name);
      const gateway = now.gateways.find((one) => one.node === node);
      return gateway !== undefined && pathsThrough(now, gateway).length === 0 ? true : undefined;
    }, patience);
    await drain(node, false);
    note(`undraining ${node} …\n`);
    const back = await waitFor(async () => {
      const now = await look();
      for (const name of unreached(now)) cut.add(name);
      return areAllUp(now) ? true : undefined;
    }, patience);
    return verdict(cluster, node, { cut, movedMs: moved.value && moved.tookMs, backMs: back.value && back.tookMs });
  } catch (error) {
    await drain(node, false);
    throw error;
  }
}

/** Clusters that have paths, none of which carries traffic. */
function unreached({ remotes }: Snapshot): readonly string[] {
  return remotes.flatMap(({ name, status: { paths = [] } }) =>
    paths.length > 0 && paths.every(({ state }) => state === 'Down') ? [name] : [],
  );
}

function areAllUp({ remotes, transitSwitches }: Snapshot): boolean {
  // A path that no other gateway can take over may still be where it belongs; other checks report that.
  const isAtRest = transitSwitches.every(({ status: { paths = [] } }) =>
    paths.every(({ state }) => state === undefined || state === 'Settled' || state === 'Unprotected'),
  );
  return isAtRest && remotes.every(({ status: { paths = [] } }) => paths.every(({ state }) => state === 'Up'));
}

interface Run {
  readonly cut: ReadonlySet<string>;
  readonly movedMs: number | undefined;
  readonly backMs: number | undefined;
}

function verdict(cluster: string, node: string, { cut, movedMs, backMs }: Run): Check {
  const name = `drain of ${node}`;
  const duration = (ms: number | undefined) => (ms === undefined ? 'not in time' : `${(ms / 1000).toFixed(1)} s`);
  const loss = cut.size === 0 ? '' : `; every path was down to ${[...cut].join(', ')}`;
  const evidence = `paths moved: ${duration(movedMs)}, all up again: ${duration(backMs)}${loss}`;
  return { cluster, name, isWell: cut.size === 0 && movedMs !== undefined && backMs !== undefined, evidence };
}
