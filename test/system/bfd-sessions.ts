/** BFD state changes in the logs of ovs-vswitchd, and retries of tests during which BFD declared live gateways dead on a busy machine. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import type { TestContext } from 'node:test';

const expiry =
  /^(\S+?)[| ].*\|(\S+): BFD state change: (?:up->down .*->|.*State: up,.* -> .*State: down, bfd.LocalDiag: )"Control Detection/;

/** Tunnels whose BFD session expired since then, like `a1 ovn-b1-0`. @param nodes names and logs of nodes, of Open vSwitch 3.1 or newer */
export function expiredSessions(
  nodes: readonly { readonly name: string; readonly logs: readonly string[] }[],
  sinceMs: number,
): readonly string[] {
  return nodes.flatMap(({ name, logs }) =>
    logs
      .flatMap((log) => readFileSync(log, 'utf8').split('\n'))
      .flatMap((line) => {
        const [, at = '', tunnel] = expiry.exec(line) ?? [];
        return Date.parse(at) >= sinceMs ? [`${name} ${tunnel}`] : [];
      }),
  );
}

export interface Disturbance {
  /** The sessions that expired since then. */
  readonly expired: (sinceMs: number) => readonly string[];
  /** Cleans up after a failed attempt, and waits until the network is healthy. */
  readonly restore: () => Promise<unknown>;
}

/** Retries `act` at most twice if it failed while BFD sessions expired. @throws the error of the last attempt */
export async function undisturbed(
  context: Pick<TestContext, 'diagnostic'>,
  { expired, restore }: Disturbance,
  act: () => Promise<unknown>,
): Promise<void> {
  for (let tries = 1; ; tries++) {
    const sinceMs = Date.now();
    try {
      await act();
      return;
    } catch (error) {
      const sessions = expired(sinceMs);
      if (!(error instanceof assert.AssertionError) || sessions.length === 0 || tries === 3) throw error;
      context.diagnostic(`tried again: ${error.message}, and BFD sessions expired: ${sessions.join(', ')}`);
    }
    await restore();
  }
}
